// Package positions writes down how far a member of etcd has come.
package positions

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// Position is how far a member has applied its log. Written as
// "<cluster ID>/<term>/<applied index>/<revision>".
type Position struct {
	Cluster  string
	Term     uint64
	Applied  uint64
	Revision int64
}

func (p Position) String() string {
	return fmt.Sprintf("%s/%d/%d/%d", p.Cluster, p.Term, p.Applied, p.Revision)
}

// Encode is the position as the rest of the program carries it.
func (p Position) Encode() engine.Position { return engine.Position(p.String()) }

// Parse reads what Encode wrote; false for anything else.
func Parse(s engine.Position) (Position, bool) {
	parts := strings.Split(string(s), "/")
	if len(parts) != 4 {
		return Position{}, false
	}
	term, err1 := strconv.ParseUint(parts[1], 10, 64)
	applied, err2 := strconv.ParseUint(parts[2], 10, 64)
	revision, err3 := strconv.ParseInt(parts[3], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil {
		return Position{}, false
	}
	return Position{Cluster: parts[0], Term: term, Applied: applied, Revision: revision}, true
}

// Applied is the member's applied index, 0 if it is not known.
func Applied(m engine.Member) uint64 {
	p, _ := Parse(m.Position)
	return p.Applied
}
