package etcd

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// position is how far a member has applied its log. Written as
// "<cluster ID>/<term>/<applied index>/<revision>".
type position struct {
	cluster  string
	term     uint64
	applied  uint64
	revision int64
}

func (p position) String() string {
	return fmt.Sprintf("%s/%d/%d/%d", p.cluster, p.term, p.applied, p.revision)
}

func (p position) encode() engine.Position { return engine.Position(p.String()) }

func parsePosition(s engine.Position) (position, bool) {
	parts := strings.Split(string(s), "/")
	if len(parts) != 4 {
		return position{}, false
	}
	term, err1 := strconv.ParseUint(parts[1], 10, 64)
	applied, err2 := strconv.ParseUint(parts[2], 10, 64)
	revision, err3 := strconv.ParseInt(parts[3], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil {
		return position{}, false
	}
	return position{cluster: parts[0], term: term, applied: applied, revision: revision}, true
}

// Compare implements engine.Rules: by applied index, which orders the one log
// of a cluster. Positions of different clusters are not comparable. The term
// is left out: a member reports its current term, not that of the last entry
// it applied.
func (*Engine) Compare(a, b engine.Position) (int, bool) {
	pa, okA := parsePosition(a)
	pb, okB := parsePosition(b)
	if !okA || !okB || pa.cluster != pb.cluster {
		return 0, false
	}
	return cmp.Compare(pa.applied, pb.applied), true
}

// applied is the member's applied index, 0 if it is not known.
func applied(m engine.Member) uint64 {
	p, _ := parsePosition(m.Position)
	return p.applied
}

// Readings implements engine.Rules.
func (*Engine) Readings(p engine.Position) []engine.Reading {
	at, ok := parsePosition(p)
	if !ok {
		return nil
	}
	return []engine.Reading{
		{Name: "revision", Value: strconv.FormatInt(at.revision, 10)},
		{Name: "term", Value: strconv.FormatUint(at.term, 10)},
		{Name: "index", Value: strconv.FormatUint(at.applied, 10)},
	}
}

// Lag implements engine.Rules: by applied index, as Compare.
func (*Engine) Lag(gap engine.Gap) (engine.Distance, bool) {
	leader, okL := parsePosition(gap.Leader)
	member, okM := parsePosition(gap.Member)
	if !okL || !okM || leader.cluster != member.cluster {
		return engine.Distance{}, false
	}
	d := engine.Distance{Unit: "log entries"}
	if leader.applied > member.applied {
		d.Amount = int64(leader.applied - member.applied) // #nosec G115 -- no log has so many entries
	}
	return d, true
}
