package etcd

import (
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

func TestHealth(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*engine.View)
		want   string
	}{
		{"healthy", func(*engine.View) {}, ""},
		{"down", down(2), "not reached: refused"},
		{"problem", member(2, func(m *engine.Member) { m.Problem = "disk" }), "reports a problem: disk"},
		{"alarm", member(2, func(m *engine.Member) { m.Alarms = []string{"NOSPACE"} }), "alarm: NOSPACE"},
		{"another's alarm", member(3, func(m *engine.Member) { m.Alarms = []string{"NOSPACE"} }), ""},
		{"no leader", member(2, func(m *engine.Member) { m.Leader = "" }), "sees no leader"},
		{"other leader", member(2, func(m *engine.Member) { m.Leader = "id-db-3" }),
			"follows leader id-db-3, but db-1 (id-db-1) leads"},
		{"leader not reached", down(1), ""},
		{"leader not reached, disagreement", func(v *engine.View) {
			down(1)(v)
			v.Members[2].Leader = "id-db-3"
		}, "db-3 follows id-db-3"},
		{"stale leader", func(v *engine.View) {
			// db-3 was elected; db-1 has not heard of it.
			v.Members[0].Serving = false
			v.Members[2].Role = engine.RoleLeader
			v.Members[1].Leader, v.Members[2].Leader = "id-db-3", "id-db-3"
		}, ""},
		{"not serving", member(2, func(m *engine.Member) { m.Serving = false }), "linearizable"},
		{"no quorum", noQuorum, "without quorum"},
		{"split", split, "split"},
		{"learner", learner(2), "learner"},
		{"unregistered", func(v *engine.View) { v.MemberList = append(v.MemberList[:1:1], v.MemberList[2:]...) },
			"not in the cluster's member list"},
		{"not started", entry(2, func(r *engine.Registered) { r.Started = false }), "not started"},
		{"another life", entry(2, func(r *engine.Registered) { r.ID = "new" }), "registered with ID new"},
		{"a little behind", applying(1, "c1/2/5100/50"), ""},
		{"far behind", applying(1, "c1/2/5101/50"), "5001 log entries behind"},
		{"position unknown", applying(2, ""), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := New().Health(world(3, c.change), "db-2")
			if (err == nil) != (c.want == "") || (err != nil && !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestTolerates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		view engine.View
		want int
	}{
		{"one", world(1), 0},
		{"two", world(2), 0},
		{"three", world(3), 1},
		{"three and a learner", world(4, learner(4)), 1},
		{"three with one down", world(3, down(2)), 0},
		{"five with one down", world(5, down(2)), 1},
		{"three with two down", world(3, noQuorum, down(2), down(3)), -1},
		{"five with four down", world(5, noQuorum, down(2), down(3), down(4), down(5)), -2},
		{"all up, no leader yet", world(3, noQuorum), -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := New().Tolerates(c.view); got != c.want {
				t.Errorf("tolerates %d, want %d", got, c.want)
			}
		})
	}
}
