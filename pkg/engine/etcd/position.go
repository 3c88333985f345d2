package etcd

import (
	"cmp"
	"strconv"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/positions"
)

// Compare implements engine.Rules: by applied index, which orders the one log
// of a cluster. Positions of different clusters are not comparable. The term
// is left out: a member reports its current term, not that of the last entry
// it applied.
func (*Engine) Compare(a, b engine.Position) (int, bool) {
	pa, okA := positions.Parse(a)
	pb, okB := positions.Parse(b)
	if !okA || !okB || pa.Cluster != pb.Cluster {
		return 0, false
	}
	return cmp.Compare(pa.Applied, pb.Applied), true
}

// Readings implements engine.Rules.
func (*Engine) Readings(p engine.Position) []engine.Reading {
	at, ok := positions.Parse(p)
	if !ok {
		return nil
	}
	return []engine.Reading{
		{Name: "revision", Value: strconv.FormatInt(at.Revision, 10)},
		{Name: "term", Value: strconv.FormatUint(at.Term, 10)},
		{Name: "index", Value: strconv.FormatUint(at.Applied, 10)},
	}
}

// Lag implements engine.Rules: by applied index, as Compare.
func (*Engine) Lag(gap engine.Gap) (engine.Distance, bool) {
	leader, okL := positions.Parse(gap.Leader)
	member, okM := positions.Parse(gap.Member)
	if !okL || !okM || leader.Cluster != member.Cluster {
		return engine.Distance{}, false
	}
	d := engine.Distance{Unit: "log entries"}
	if leader.Applied > member.Applied {
		d.Amount = int64(leader.Applied - member.Applied) // #nosec G115 -- no log has so many entries
	}
	return d, true
}
