package contracttest

import (
	"slices"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// inputs are a starting first member, one that joins, and one of the newest version.
func inputs(c Case) []engine.PodInput {
	var peers []string
	for _, m := range c.View.Members {
		peers = append(peers, m.Name)
	}
	var out []engine.PodInput
	for _, r := range c.Engine.Catalog().Releases {
		for _, bootstrap := range []bool{true, false} {
			out = append(out, engine.PodInput{Cluster: c.Cluster, Member: peers[0], Image: r.Image,
				ToolImage: "tool:1", Version: r.Version,
				Bootstrap: bootstrap, Peers: peers})
		}
	}
	return out
}

func pod(t testing.TB, c Case, in engine.PodInput) engine.Pod {
	t.Helper()
	p, err := c.Engine.Pod(in)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func clone(v engine.View) engine.View {
	v.Members, v.MemberList = slices.Clone(v.Members), slices.Clone(v.MemberList)
	v.ClusterIDs, v.Alarms = slices.Clone(v.ClusterIDs), slices.Clone(v.Alarms)
	return v
}

func change(v engine.View, name string, set func(*engine.Member)) engine.View {
	v = clone(v)
	for i := range v.Members {
		if v.Members[i].Name == name {
			set(&v.Members[i])
		}
	}
	return v
}

// silent is the view if that member is not reached.
func silent(v engine.View, name string) engine.View {
	return change(v, name, func(m *engine.Member) {
		*m = engine.Member{Name: name, Role: engine.RoleUnknown, Problem: "it does not answer"}
	})
}

// at is the view if that member is at another position.
func at(v engine.View, name string, p engine.Position) engine.View {
	return change(v, name, func(m *engine.Member) { m.Position = p })
}

// apart is the view if one member belongs to another cluster.
func apart(v engine.View) engine.View {
	v = clone(v)
	v.Members[0].ClusterID = "another"
	v.ClusterIDs = append(v.ClusterIDs, "another")
	return v
}

// without is the view if all but one member are silent, and no majority answers.
func without(v engine.View) engine.View {
	v = clone(v)
	v.Quorum, v.MemberList = false, nil
	for i, m := range v.Members {
		if m.Role.Leads() {
			v.Members[i] = engine.Member{Name: m.Name, Role: engine.RoleUnknown, Problem: "it does not answer"}
		}
		v.Members[i].Serving, v.Members[i].Leader = false, ""
	}
	for i := range v.Members[1:] {
		if i > 0 {
			v = silent(v, v.Members[i+1].Name)
		}
	}
	return v
}

func leaderAndOthers(v engine.View) (leader string, others []string) {
	for _, m := range v.Members {
		if m.Role.Leads() {
			leader = m.Name
		} else {
			others = append(others, m.Name)
		}
	}
	return leader, others
}
