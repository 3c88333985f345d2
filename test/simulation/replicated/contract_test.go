package replicated

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/agreed"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/contracttest"
)

func contract(e engine.Engine) contracttest.Case {
	cluster := &v1alpha1.DatabaseCluster{Spec: v1alpha1.DatabaseClusterSpec{Engine: e.Name(), Version: "17.5",
		Members: 3}}
	cluster.Name, cluster.Namespace = "db", "shop"
	cluster.Status.Bootstrap = &v1alpha1.Bootstrap{Token: "t", Members: []string{"db-1", "db-2", "db-3"}, ClusterID: "c1"}
	v := engine.View{Quorum: true, ClusterIDs: []string{"c1"}}
	for i, name := range cluster.Status.Bootstrap.Members {
		role := engine.RoleReplica
		if i == 0 {
			role = engine.RolePrimary
		}
		v.Members = append(v.Members, engine.Member{Name: name, ID: "id-" + name, Reachable: true,
			Serving: true, Role: role,
			ClusterID: "c1", Leader: "id-db-1", Version: "17.5", Position: agreed.Position("c1", 3, 100)})
		v.MemberList = append(v.MemberList, engine.Registered{ID: "id-" + name, Name: name, Voter: true, Started: true})
	}
	return contracttest.Case{
		Engine: e, Cluster: cluster, View: v,
		Versions: []string{"9.6", "16.9", "17.4", "17.5", "17.10", "18.0"}, NotVersions: []string{"17.x", "17.5.1", "-1"},
		Positions: []engine.Position{agreed.Position("c1", 3, 100), agreed.Position("c1", 3, 101),
			agreed.Position("c1", 3, 9000)},
		ForeignPosition: agreed.Position("c1", 2, 9000),
		Proofs:          []engine.Proof{"a", "b"},
	}
}

func TestContract(t *testing.T) {
	t.Parallel()
	contracttest.Run(t, contract(New()))
}

// TestContractNotices: each of these engines breaks one promise, and is caught.
func TestContractNotices(t *testing.T) {
	t.Parallel()
	for want, broken := range map[string]engine.Engine{
		"versions are in a total order":             threeParts{New()},
		"the catalog is in the order of versions":   unsorted{New()},
		"positions are compared or can't be":        oneHistory{New()},
		"a lag has two ends":                        exchanged{New()},
		"nothing proves nothing":                    gullible{New()},
		"rendering is deterministic":                &counting{Engine: New()},
		"an existing member can't found a cluster":  sealing{New()},
		"capabilities are what the engine can do":   boasting{New()},
		"health needs an answer and a majority":     blithe{New()},
		"nobody leads who is behind":                anybody{New()},
		"a backup comes from somebody healthy":      firstListed{New()},
		"who leaves is a member, and the worst off": leaderLeaves{New()},
		"the margin is counted":                     carefree{New()},
		"questions change nothing":                  meddling{New()},
		"a witness holds no data":                   noWitness{New()},
		"a member shows its certificate":            opaque{New()},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			if got := contracttest.Broken(t, contract(broken)); !slices.Contains(got, want) {
				t.Errorf("not noticed, but %q", got)
			}
		})
	}
	if got := contracttest.Broken(t, contract(New())); len(got) > 0 {
		t.Errorf("an engine that keeps its promises breaks %q", got)
	}
}

type (
	threeParts   struct{ Engine }
	unsorted     struct{ Engine }
	oneHistory   struct{ Engine }
	exchanged    struct{ Engine }
	gullible     struct{ Engine }
	sealing      struct{ Engine }
	boasting     struct{ Engine }
	blithe       struct{ Engine }
	anybody      struct{ Engine }
	firstListed  struct{ Engine }
	leaderLeaves struct{ Engine }
	carefree     struct{ Engine }
	meddling     struct{ Engine }
	noWitness    struct{ Engine }
	opaque       struct{ Engine }
	counting     struct {
		Engine
		rendered int64
	}
)

// Series of a release is the release.
func (threeParts) Series(version string) string { return version }

func (unsorted) Catalog() engine.Catalog {
	c := New().Catalog()
	slices.Reverse(c.Releases)
	return c
}

// Compare takes every log for one history.
func (oneHistory) Compare(a, b engine.Position) (int, bool) {
	_, x, _ := agreed.Split(a)
	_, y, _ := agreed.Split(b)
	return int(x - y), true
}

func (exchanged) Lag(g engine.Gap) (engine.Distance, bool) {
	return New().Lag(engine.Gap{Leader: g.Member, Member: g.Leader})
}

func (gullible) CompareProofs(want, got engine.Proof) engine.Match {
	if want == got {
		return engine.MatchSame
	}
	return engine.MatchDifferent
}

func (c *counting) Pod(in engine.PodInput) (engine.Pod, error) {
	p, err := c.Engine.Pod(in)
	c.rendered++
	p.GraceSeconds += c.rendered
	return p, err
}

// DisableBootstrap seals everybody, and again what is sealed.
func (sealing) DisableBootstrap(template corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	for i := range template.Spec.Containers {
		template.Spec.Containers[i].Args = append(template.Spec.Containers[i].Args, "--join")
	}
	return template
}

func (boasting) Capabilities() engine.Capabilities {
	c := New().Capabilities()
	c.Users = true
	return c
}

// Health asks nobody for a majority.
func (blithe) Health(_ engine.View, name string) error {
	if name == "nobody" {
		return engine.ErrRefused
	}
	return nil
}

// Successor is the last replica, however far behind.
func (anybody) Successor(v engine.View, _ ...string) string { return v.Members[len(v.Members)-1].Name }

func (firstListed) Source(v engine.View, _ bool) string { return v.Members[0].Name }

func (leaderLeaves) RemovalCandidate(v engine.View) string { return v.Members[0].Name }

func (carefree) Tolerates(engine.View) int { return 1 }

// CheckAdd counts everybody as started.
func (meddling) CheckAdd(v engine.View) error {
	v.Members[0].Version = "18.0"
	return nil
}

// Connect returns a session that does not say what members show.
func (opaque) Connect(a engine.Access) (engine.Session, error) {
	s, err := New().Connect(a)
	return struct {
		engine.Session
		engine.WitnessRegistrar
	}{s, s.(engine.WitnessRegistrar)}, err
}

// Pod of a witness is that of any member.
func (noWitness) Pod(in engine.PodInput) (engine.Pod, error) {
	in.Witness = false
	return New().Pod(in)
}
