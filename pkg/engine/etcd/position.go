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

// Spell implements engine.Recognizer.
func (*Engine) Spell(p engine.Position) []engine.Reading {
	at, ok := parsePosition(p)
	if !ok {
		return nil
	}
	// Neither counter reaches the sign in the life of a cluster.
	return []engine.Reading{{Name: "revision", Value: at.revision}, {Name: "term", Value: int64(at.term)}, // #nosec G115 -- see above
		{Name: "index", Value: int64(at.applied)}} // #nosec G115 -- see above
}

var _ engine.Measurer = (*Engine)(nil)

// Behind implements engine.Measurer: by applied index, as Compare. One that was
// asked a moment later than the other is not behind.
func (*Engine) Behind(member, other engine.Position) (int64, bool) {
	m, okM := parsePosition(member)
	o, okO := parsePosition(other)
	if !okM || !okO || m.cluster != o.cluster {
		return 0, false
	}
	if m.applied >= o.applied {
		return 0, true
	}
	return int64(o.applied - m.applied), true // #nosec G115 -- no log has so many entries
}
