package postgres

import (
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/agreed"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/contracttest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	cluster := &v1alpha1.DatabaseCluster{Spec: v1alpha1.DatabaseClusterSpec{Engine: Name, Version: "17.11", Members: 3}}
	cluster.Name, cluster.Namespace = "db", "shop"
	cluster.Status.Bootstrap = &v1alpha1.Bootstrap{Token: "t", Members: []string{"db-1", "db-2", "db-3"},
		ClusterID: "7@t"}
	at := func(timeline, offset int) engine.Position { return agreed.Position("7", timeline, offset) }
	v := engine.View{Quorum: true, ClusterIDs: []string{"7@t"}}
	for i, name := range cluster.Status.Bootstrap.Members {
		role := engine.RoleReplica
		if i == 0 {
			role = engine.RolePrimary
		}
		v.Members = append(v.Members, engine.Member{Name: name, ID: name, Reachable: true, Serving: true, Role: role,
			ClusterID: "7@t", Leader: "db-1", Version: "17.11", Position: at(3, 1<<25)})
		v.MemberList = append(v.MemberList, engine.Registered{ID: name, Name: name, Voter: true, Started: true})
	}
	contracttest.Run(t, contracttest.Case{
		Engine: New(), Cluster: cluster, View: v,
		Versions: []string{"9.6", "16.9", "17.4", "17.5", "17.10", "18.0"}, NotVersions: []string{"17.x", "17.5.1", "-1"},
		Positions:       []engine.Position{at(3, 1<<25), at(3, 1<<25+8), at(3, 1<<29)},
		ForeignPosition: at(2, 1<<29),
		Proofs:          []engine.Proof{"a", "b"},
	})
}
