package resp

import (
	"bufio"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadCommand(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		raw  string
		want []string
		why  string
	}{
		"a command":             {raw: "*2\r\n$4\r\nPING\r\n$2\r\na\n\r\n", want: []string{"PING", "a\n"}},
		"an empty argument":     {raw: "*1\r\n$0\r\n\r\n", want: []string{""}},
		"a command on one line": {raw: "PING\r\n", why: "is not '*'"},
		"no command":            {raw: "*0\r\n", why: "it is empty"},
		"too many arguments":    {raw: "*4\r\n", why: "up to 3"},
		"a long argument":       {raw: "*1\r\n$11\r\n", why: "up to 10"},
		"less than nothing":     {raw: "*1\r\n$-1\r\n", why: "up to 10"},
		"a part":                {raw: "*1\r\n$4\r\nPI", why: "EOF"},
		"a line without an end": {raw: "*" + strings.Repeat("1", 5000), why: "buffer full"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ReadCommand(bufio.NewReader(strings.NewReader(c.raw)), Bounds{Arguments: 3, Bytes: 10})
			if (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
				t.Fatalf("it gives %v, want %q", err, c.why)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
	again, err := ReadCommand(bufio.NewReader(strings.NewReader(string(Encode([]string{"SET", "k", ""})))),
		Bounds{Arguments: 3, Bytes: 10})
	if d := cmp.Diff([]string{"SET", "k", ""}, again); d != "" || err != nil {
		t.Errorf("what was written is read as another command: %v %s", err, d)
	}
}

func TestAppend(t *testing.T) {
	t.Parallel()
	answer := List{Simple("OK"), Error("ERR no"), 7, "text", nil, Map{"a", "b"}, Push{"message"}}
	for version, want := range map[int]string{
		2: "*7\r\n+OK\r\n-ERR no\r\n:7\r\n$4\r\ntext\r\n*-1\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n*1\r\n$7\r\nmessage\r\n",
		3: "*7\r\n+OK\r\n-ERR no\r\n:7\r\n$4\r\ntext\r\n_\r\n%1\r\n$1\r\na\r\n$1\r\nb\r\n>1\r\n$7\r\nmessage\r\n",
	} {
		if d := cmp.Diff(want, string(Append(nil, answer, version))); d != "" {
			t.Errorf("version %d: %s", version, d)
		}
	}
}
