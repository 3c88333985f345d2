package valkey

import (
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/agreed"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/contracttest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	for _, e := range []*Engine{New(), NewRedis()} {
		t.Run(e.Name(), func(t *testing.T) {
			t.Parallel()
			version := e.Catalog().Default
			cluster := &v1alpha1.DatabaseCluster{Spec: v1alpha1.DatabaseClusterSpec{
				Engine: e.Name(), Version: version, Members: 3,
			}}
			cluster.Name, cluster.Namespace = "db", "shop"
			cluster.Status.Bootstrap = &v1alpha1.Bootstrap{
				Token: "t", Members: []string{"db-1", "db-2", "db-3"}, ClusterID: "7@t",
			}
			at := func(timeline, offset int) engine.Position { return agreed.Position("7", timeline, offset) }
			v := engine.View{Quorum: true, ClusterIDs: []string{"7@t"}}
			for i, name := range cluster.Status.Bootstrap.Members {
				role := engine.RoleReplica
				if i == 0 {
					role = engine.RolePrimary
				}
				v.Members = append(v.Members, engine.Member{
					Name: name, ID: name, Reachable: true, Serving: true, Role: role, ClusterID: "7@t", Leader: "db-1",
					Version: version, Position: at(3, 1<<25),
				})
				v.MemberList = append(v.MemberList, engine.Registered{ID: name, Name: name, Voter: true, Started: true})
			}
			contracttest.Run(t, contracttest.Case{
				Engine: e, Cluster: cluster, View: v,
				Versions:    []string{"6.2.1", "7.0.15", "7.2", "7.2.4", "8.0.2", "8.1.1", "9.1.2", "10.0"},
				NotVersions: []string{"8.x", "8.1.1.1", "-1", "unstable"},
				Positions:   []engine.Position{at(3, 1<<25), at(3, 1<<25+8), at(3, 1<<29)},
				// Another timeline.
				ForeignPosition: at(2, 1<<29),
				Proofs:          []engine.Proof{"a", "b"},
			})
		})
	}
}

func TestCheckCreate(t *testing.T) {
	t.Parallel()
	sound := v1alpha1.DatabaseClusterSpec{Version: "8.1.1", Members: 3, Auth: v1alpha1.Auth{Enabled: true}}
	set := func(name, value string) func(*v1alpha1.DatabaseClusterSpec) {
		return func(s *v1alpha1.DatabaseClusterSpec) { s.Config = map[string]string{name: value} }
	}
	for name, c := range map[string]struct {
		change func(*v1alpha1.DatabaseClusterSpec)
		fits   bool
	}{
		"as it is":           {func(*v1alpha1.DatabaseClusterSpec) {}, true},
		"without TLS":        {func(s *v1alpha1.DatabaseClusterSpec) { s.TLS.Disabled = true }, false},
		"without a login":    {func(s *v1alpha1.DatabaseClusterSpec) { s.Auth.Enabled = false }, false},
		"an old version":     {func(s *v1alpha1.DatabaseClusterSpec) { s.Version = "6.2.1" }, false},
		"a limit of memory":  {set("maxmemory", "1gb"), true},
		"another durability": {set("durability", "strict"), true},
		"more flushes":       {set("appendfsync", "always"), true},
		"no file":            {set("AppendOnly", "no"), false},
		"another primary":    {set("replicaof", "x 1"), false},
	} {
		spec := *sound.DeepCopy()
		c.change(&spec)
		if err := New().CheckCreate(spec, false); (err == nil) != c.fits {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestUpgrade: a newer series reads the data of an older one, and never the other way.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	e := New()
	view := func(version string) engine.View {
		return engine.View{
			Quorum: true, ClusterIDs: []string{"7@t"},
			Members: []engine.Member{{Name: "db-1", ID: "db-1", Reachable: true, Serving: true, Role: engine.RolePrimary,
				ClusterID: "7@t", Leader: "db-1", Version: version, Position: agreed.Position("7", 1, 5)}},
			MemberList: []engine.Registered{{ID: "db-1", Name: "db-1", Voter: true, Started: true}},
		}
	}
	spec := v1alpha1.DatabaseClusterSpec{Members: 1}
	for _, c := range []struct {
		from, to       string
		up, down, back bool
	}{
		{"8.1.1", "8.1.4", true, false, true},
		{"8.1.1", "9.1.2", true, false, true},
		{"9.1.2", "8.1.1", false, false, false},
		{"8.1.4", "8.1.1", false, true, true},
	} {
		up, down := e.CheckUpgrade(view(c.from), spec, c.to), e.CheckDowngrade(view(c.from), spec, c.to)
		back := e.CheckRollback(view(c.from), c.to)
		if (up == nil) != c.up || (down == nil) != c.down || (back == nil) != c.back {
			t.Errorf("from %s to %s: up %v, down %v, back %v", c.from, c.to, up, down, back)
		}
	}
}
