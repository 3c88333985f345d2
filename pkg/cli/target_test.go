package cli_test

import (
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

// TestPrintedNamesAreTaken: what a command prints can be given to the next one.
func TestPrintedNamesAreTaken(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	if r := b.Run("scale", "fakedb/my-db", "--members", "3"); r.Code != exit.Done || r.Out != "fakedb/my-db unchanged\n" {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	if id := b.Backup("my-db"); b.Run("backup", "describe", "backup/"+id).Code != exit.Done {
		t.Errorf("backup/%s is not taken", id)
	}
	if r := b.Run("history", "fakedb/my-db", "-o", "name"); r.Code != exit.Done || r.Out == "" {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	if r := b.Run("delete", "fakedb/my-db", "--yes", "--progress", "none"); r.Code != exit.Done ||
		r.Out != "fakedb/my-db deleted\n" {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
}

// TestFlagErrorsAreInPlainWords: no name of a Go function is shown.
func TestFlagErrorsAreInPlainWords(t *testing.T) {
	b := clitest.New(t)
	for value, want := range map[string]string{"many": "not of the type", "99999999999999999999": "too large"} {
		if r := b.Run("scale", "my-db", "--members", value); r.Code != exit.Usage || strings.Contains(r.Err, "strconv") ||
			!strings.Contains(r.Err, want) {
			t.Errorf("exit %d\n%s", r.Code, r.Err)
		}
	}
}

// TestFlagErrorsShowNoCredential: a flag that lost its value swallows the next
// one, which may hold a token.
func TestFlagErrorsShowNoCredential(t *testing.T) {
	b := clitest.New(t)
	for _, args := range [][]string{
		{"--members", "--token=hush"}, {"--timeout", "--password=hush"}, {"--=hush"}, {"---token=hush"}, {"-thush"},
		{"--tokn=hush"},
	} {
		r := b.Run(append([]string{"scale", "my-db"}, args...)...)
		if r.Code != exit.Usage || strings.Contains(r.Out+r.Err, "hush") {
			t.Errorf("%q: exit %d\n%s%s", args, r.Code, r.Out, r.Err)
		}
	}
}
