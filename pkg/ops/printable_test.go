package ops

import "testing"

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"plain, größer\n\tyes": "plain, größer\n\tyes", "\x1b[2Jgone": "?[2Jgone", "\x1b]0;title\a": "?]0;title?",
		"a\rb\x7f\u009b": "a?b??", "a\u202eb": "a?b",
	} {
		if got := Printable(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
