package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
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
		"without the flag":             {args: create, code: ExitRefused, says: "--discard-volumes"},
		"the plan of it":               {args: append([]string{"plan"}, discard...), code: ExitDone, says: "my-db-1"},
		"a dry run":                    {args: append(slices.Clone(discard), "--dry-run=client"), code: ExitDone},
		"nobody can be asked":          {args: discard, code: ExitUsage, says: "--yes"},
		"the name":                     {args: discard, answer: "my-db\n", code: ExitDone, says: "persistentvolumeclaim/my-db-1", drops: true},
		"yes is not enough":            {args: discard, answer: "y\n", code: ExitFailed, says: "persistentvolumeclaim/my-db-1"},
		"--yes":                        {args: append(slices.Clone(discard), "--yes"), code: ExitDone, drops: true},
		"together with --from-volumes": {args: append(slices.Clone(discard), "--from-volumes"), code: ExitUsage, says: "from-volumes"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.world.facts.Members = []kube.Member{{Name: "my-db-1", Volume: kube.Volume{Exists: true, Token: "earlier"}}}
			b.tty, b.in = row.answer != "", strings.NewReader(row.answer)
			r := b.run(row.args...)
			if r.code != row.code || !strings.Contains(r.out+r.err, row.says) {
				t.Errorf("exit %d, want %d with %q\n%s%s", r.code, row.code, row.says, r.out, r.err)
			}
			dropped := slices.Index(b.writes, string(ops.ActionDeleteVolume))
			if dropped >= 0 != row.drops {
				t.Errorf("wrote %v", b.writes)
			}
			if started := slices.Index(b.writes, string(ops.ActionStart)); row.drops && started < dropped {
				t.Errorf("it started members beside the volumes: %v", b.writes)
			}
		})
	}
}
