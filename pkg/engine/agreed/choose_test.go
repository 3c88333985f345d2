package agreed

import (
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// TestSource: a backup spares the primary where a replica is close behind, unless it has to hold everything.
func TestSource(t *testing.T) {
	t.Parallel()
	r := Rules{NearEnough: 100, MostLag: 1000, MaxMembers: 9}
	for name, c := range map[string]struct {
		behind int
		leader bool
		want   string
	}{
		"a replica that is close":       {50, false, "db-2"},
		"a replica that lacks much":     {500, false, "db-1"},
		"everything has to be in it":    {50, true, "db-1"},
		"a replica that is not healthy": {5000, false, "db-1"},
	} {
		v := engine.View{Quorum: true, ClusterIDs: []string{"7@t"}}
		for i, member := range []string{"db-1", "db-2"} {
			m := engine.Member{Name: member, ID: member, Reachable: true, Serving: true, ClusterID: "7@t", Leader: "db-1",
				Role: engine.RolePrimary, Position: Position("7", 3, 10_000)}
			if i > 0 {
				m.Role, m.Position = engine.RoleReplica, Position("7", 3, 10_000-c.behind)
			}
			v.Members = append(v.Members, m)
			v.MemberList = append(v.MemberList, engine.Registered{ID: member, Name: member, Voter: true, Started: true})
		}
		if got := r.Source(v, c.leader); got != c.want {
			t.Errorf("%s: it is taken from %s, want %s", name, got, c.want)
		}
	}
}
