package cluster_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// TestCreateDiscardsVolumes: volumes that an earlier cluster left go only where
// their name was typed, or --yes, with the flag that asks for it, and before
// anything is made.
func TestCreateDiscardsVolumes(t *testing.T) {
	create := []string{"create", "my-db", "--engine", "fakedb", "--progress", "none"}
	discard := append(slices.Clone(create), "--discard-volumes")
	for name, row := range map[string]struct {
		args   []string
		answer string
		code   int
		says   string
		drops  bool
	}{
		"without the flag":    {args: create, code: exit.Refused, says: "--discard-volumes"},
		"the plan of it":      {args: append([]string{"plan"}, discard...), code: exit.Done, says: "my-db-1"},
		"a dry run":           {args: append(slices.Clone(discard), "--dry-run=client"), code: exit.Done},
		"nobody can be asked": {args: discard, code: exit.Usage, says: "--yes"},
		"the name": {args: discard, answer: "my-db\n", code: exit.Done,
			says: "persistentvolumeclaim/my-db-1", drops: true},
		"yes is not enough": {args: discard, answer: "y\n", code: exit.Failed,
			says: "persistentvolumeclaim/my-db-1"},
		"--yes": {args: append(slices.Clone(discard), "--yes"), code: exit.Done, drops: true},
		"together with --from-volumes": {args: append(slices.Clone(discard), "--from-volumes"), code: exit.Usage,
			says: "from-volumes"},
	} {
		t.Run(name, func(t *testing.T) {
			b := clitest.New(t)
			b.Cluster.Facts.Members = []observe.Member{{Name: "my-db-1",
				Volume: observe.Volume{Exists: true, Token: "earlier"}}}
			b.Tty, b.In = row.answer != "", strings.NewReader(row.answer)
			r := b.Run(row.args...)
			if r.Code != row.code || !strings.Contains(r.Out+r.Err, row.says) {
				t.Errorf("exit %d, want %d with %q\n%s%s", r.Code, row.code, row.says, r.Out, r.Err)
			}
			dropped := slices.Index(b.Writes, string(ops.ActionDeleteVolume))
			if dropped >= 0 != row.drops {
				t.Errorf("wrote %v", b.Writes)
			}
			if started := slices.Index(b.Writes, string(ops.ActionStart)); row.drops && started < dropped {
				t.Errorf("it started members beside the volumes: %v", b.Writes)
			}
		})
	}
}
