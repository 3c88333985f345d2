package docs

import (
	"testing"
)

func TestRoff(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"--dry-run":        `\-\-dry\-run`,
		`a\b`:              `a\eb`,
		".hidden\n'quoted": "\\&.hidden\n\\&'quoted",
		"one\n.PP\ntwo":    "one\n.PP\ntwo",
	} {
		if got := roff(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}
