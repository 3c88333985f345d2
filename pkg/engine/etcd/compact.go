package etcd

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/client"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/positions"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/refusal"
)

var (
	_ engine.CompactionRules = (*Engine)(nil)
	_ engine.Compactor       = (*client.Session)(nil)
)

// CompactRevision implements engine.CompactionRules. The present revision is the highest
// that a member of the one cluster has applied.
func (*Engine) CompactRevision(v engine.View, revision, keep int64) (int64, error) {
	var head int64
	for _, m := range v.Members {
		if p, ok := positions.Parse(m.Position); ok && m.Reachable {
			head = max(head, p.Revision)
		}
	}
	if revision > head && head > 0 {
		return 0, refusal.New("revision", "choose one up to the present, or say how many to keep: --keep-revisions",
			"revision %d is still to come: the cluster is at %d", revision, head)
	}
	if revision > 0 {
		return revision, nil
	}
	// What was there from the beginning is the empty revision 1.
	if before := head - keep; before > 1 {
		return before, nil
	}
	return 0, nil
}

// CompactImpact implements engine.CompactionRules.
func (*Engine) CompactImpact(before int64) string {
	return fmt.Sprintf(
		"every key keeps its value; who reads, or watches from, a revision before %d is told that it was compacted, and "+
			"must read again", before)
}
