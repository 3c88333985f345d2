package cluster_test

import (
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

// TestUpgradeOnlineRefuses: what can't be meant is refused before anything is observed, and an engine that needs no
// second cluster before anything is written.
func TestUpgradeOnlineRefuses(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"my-db"}, exit.Usage, "--version is required"},
		{[]string{"my-db", "--version", "1", "--into", "next"}, exit.Usage, "are of an upgrade with --online"},
		{[]string{"my-db", "--back"}, exit.Usage, "are of an upgrade with --online"},
		{[]string{"my-db", "--online"}, exit.Usage, "--version is required"},
		{[]string{"my-db", "--online", "--back"}, exit.Usage, "--into must name"},
		{[]string{"my-db", "--online", "--back", "--finish", "--into", "next"}, exit.Usage, "exclude each other"},
		{[]string{"my-db", "--online", "--back", "--into", "next", "--version", "1"}, exit.Usage, "take no --version"},
		{[]string{"my-db", "--online", "--back", "--into", "next"}, exit.Refused, "there is no cluster next"},
		{[]string{"my-db", "--online", "--version", "3.6", "--into", "Next"}, exit.Usage, "can't be the name"},
		{[]string{"my-db", "--online", "--version", "3.6"}, exit.Refused, "need no second cluster"},
	} {
		r := b.Run(append([]string{"upgrade"}, c.args...)...)
		if r.Code != c.code || !strings.Contains(r.Err, c.want) {
			t.Errorf("upgrade %s: exit %d, want %d and %q: %s", strings.Join(c.args, " "), r.Code, c.code, c.want, r.Err)
		}
	}
}
