package observe

import "testing"

func TestLastWords(t *testing.T) {
	long := make([]byte, 2*maxMessage)
	for i := range long {
		long[i] = 'x'
	}
	for in, want := range map[string]string{"": "", "a\nb\n": "b", "  one ": "one", "flag provided but not defined: " +
		"-x\nUsage:\n  --y does y": "flag provided but not defined: -x",
		`{"level":"fatal","msg":"discovery failed","error":"found data inconsistency","stacktrace":"main.main"}`: "discovery failed: found data inconsistency", `{"msg":"the server has a panic"}`: "the server has a panic",
		string(long): string(long[:maxMessage]) + "..."} {
		if got := lastWords(in); got != want {
			t.Errorf("lastWords(%.10q) = %.10q of %d", in, got, len(got))
		}
	}
}
