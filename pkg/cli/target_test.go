package cli

import (
	"strings"
	"testing"
)

// TestPrintedNamesAreTaken: what a command prints can be given to the next one.
func TestPrintedNamesAreTaken(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	if r := b.run("scale", "fakedb/my-db", "--members", "3"); r.code != ExitDone || r.out != "fakedb/my-db unchanged\n" {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if id := b.backup("my-db"); b.run("backup", "describe", "backup/"+id).code != ExitDone {
		t.Errorf("backup/%s is not taken", id)
	}
	if r := b.run("history", "fakedb/my-db", "-o", "name"); r.code != ExitDone || r.out == "" {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if r := b.run("delete", "fakedb/my-db", "--yes", "--progress", "none"); r.code != ExitDone || r.out != "fakedb/my-db deleted\n" {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
}

// TestFlagErrorsAreInPlainWords: no name of a Go function is shown.
func TestFlagErrorsAreInPlainWords(t *testing.T) {
	b := newBench(t)
	for value, want := range map[string]string{"many": "not of the type", "99999999999999999999": "too large"} {
		if r := b.run("scale", "my-db", "--members", value); r.code != ExitUsage || strings.Contains(r.err, "strconv") || !strings.Contains(r.err, want) {
			t.Errorf("exit %d\n%s", r.code, r.err)
		}
	}
}

// TestFlagErrorsShowNoCredential: a flag that lost its value swallows the next
// one, which may hold a token.
func TestFlagErrorsShowNoCredential(t *testing.T) {
	b := newBench(t)
	for _, args := range [][]string{
		{"--members", "--token=hush"}, {"--timeout", "--password=hush"}, {"--=hush"}, {"---token=hush"}, {"-thush"}, {"--tokn=hush"},
	} {
		r := b.run(append([]string{"scale", "my-db"}, args...)...)
		if r.code != ExitUsage || strings.Contains(r.out+r.err, "hush") {
			t.Errorf("%q: exit %d\n%s%s", args, r.code, r.out, r.err)
		}
	}
}
