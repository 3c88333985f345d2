package health

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// UnknownMembers are the entries of the database's member list that are no member of
// this cluster: somebody else added them, and no pod of ours is behind them.
func UnknownMembers(s ops.State) []engine.Registered {
	var out []engine.Registered
	for _, r := range s.View.MemberList {
		if v1alpha1.MemberNumber(s.Cluster.Name, r.Name) == 0 {
			out = append(out, r)
		}
	}
	return out
}

// UnknownFinding tells of such an entry.
func UnknownFinding(s ops.State, r engine.Registered) ops.Finding {
	f := ops.Finding{Severity: ops.Warn, Subject: "member " + r.Name,
		What:     "it is in the member list, and is no member of this cluster: no other member can join",
		Evidence: []string{"registered with ID " + r.ID + " at " + r.Address},
		Remedy:   []string{fmt.Sprintf("kubectl dbop member remove %s %s", s.Cluster.Name, r.Name)}}
	if r.Voter {
		f.Severity = ops.Fail
		f.What = "it is in the member list with a vote, and is no member of this cluster: it counts against the quorum"
	}
	return f
}
