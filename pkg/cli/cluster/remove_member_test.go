package cluster

import (
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// TestRemovalOfAnUnknownEntry: no volume goes with an entry that is no member of the cluster.
func TestRemovalOfAnUnknownEntry(t *testing.T) {
	t.Parallel()
	p := &planner.Prepared{}
	p.Request.Operation.Cluster = "my-db"
	for member, volume := range map[string]bool{"my-db-3": true, "295fde8afa08b41e": false} {
		q, err := removal(p, member)
		if err != nil || strings.Contains(strings.Join(q.Lost, ""), "volume") != volume {
			t.Errorf("%s: %+v, %v", member, q, err)
		}
	}
}
