package printer_test

import (
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

func TestCustomColumns(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	id := b.Backup("my-db")
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
		if r := b.Run(test.args...); r.Code != exit.Done || r.Out != test.want {
			t.Errorf("%v: exit %d\n%s%s", test.args, r.Code, r.Out, r.Err)
		}
	}
	for _, wrong := range []string{"custom-columns", "custom-columns=", "custom-columns=NAME", "custom-columns=NAME:{",
		"custom-columns=:.x"} {
		if r := b.Run("list", "-o", wrong); r.Code != exit.Usage || r.Out != "" {
			t.Errorf("%s: exit %d\n%s%s", wrong, r.Code, r.Out, r.Err)
		}
	}
	if r := b.Run("version", "-o", "custom-columns=X:.y"); r.Code != exit.Usage {
		t.Errorf("a command without a table: exit %d", r.Code)
	}
}
