package cli

import "testing"

func TestCustomColumns(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	id := b.backup("my-db")
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"list", "-o", "custom-columns=NAME:.metadata.name,READY:{.ready},GONE:.spec.nothing"},
			"NAME    READY   GONE\nmy-db   0       <none>\n"},
		{[]string{"status", "my-db", "--no-headers", "-o", "custom-columns=NAME:name,MEMBERS:.members[*].name"},
			"my-db   my-db-1,my-db-2,my-db-3\n"},
		{[]string{"history", "-o", "custom-columns=VERB:.spec.verb"}, "VERB\ncreate\n"},
		{[]string{"backup", "list", "-o", "custom-columns=NAME:.id"}, "NAME\n" + id + "\n"},
	} {
		if r := b.run(test.args...); r.code != ExitDone || r.out != test.want {
			t.Errorf("%v: exit %d\n%s%s", test.args, r.code, r.out, r.err)
		}
	}
	for _, wrong := range []string{"custom-columns", "custom-columns=", "custom-columns=NAME", "custom-columns=NAME:{", "custom-columns=:.x"} {
		if r := b.run("list", "-o", wrong); r.code != ExitUsage || r.out != "" {
			t.Errorf("%s: exit %d\n%s%s", wrong, r.code, r.out, r.err)
		}
	}
	if r := b.run("version", "-o", "custom-columns=X:.y"); r.code != ExitUsage {
		t.Errorf("a command without a table: exit %d", r.code)
	}
}
