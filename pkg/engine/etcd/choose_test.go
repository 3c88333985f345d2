package etcd

import (
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

func TestSuccessor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		view   engine.View
		except []string
		want   string
	}{
		{"equals", world(3), nil, "db-2"},
		{"furthest", world(3, applying(3, "c1/2/101/50")), nil, "db-3"},
		{"except", world(3, applying(3, "c1/2/101/50")), []string{"db-3"}, "db-2"},
		{"unhealthy", world(3, down(2)), nil, "db-3"},
		{"learner", world(3, learner(2), down(3)), nil, ""},
		{"never the leader", world(1), nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := New().Successor(c.view, c.except...); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestRemovalCandidate(t *testing.T) {
	t.Parallel()
	lead := func(n int) func(*engine.View) {
		return func(v *engine.View) {
			v.Members[0].Role, v.Members[n-1].Role = engine.RoleFollower, engine.RoleLeader
			for i := range v.Members {
				v.Members[i].Leader = v.Members[n-1].ID
			}
		}
	}
	for _, c := range []struct {
		name string
		view engine.View
		want string
	}{
		{"highest number", world(3), "db-3"},
		{"number, not text", world(11), "db-11"},
		{"not the leader", world(3, lead(3)), "db-2"},
		{"unhealthy first", world(3, down(2)), "db-2"},
		{"learner first", world(3, learner(2)), "db-2"},
		{"list order does not matter", world(3, func(v *engine.View) {
			v.MemberList[0], v.MemberList[2] = v.MemberList[2],
				v.MemberList[0]
		}), "db-3"},
		{"no quorum", world(3, noQuorum), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := New().RemovalCandidate(c.view); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestSource(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		view   engine.View
		leader bool
		want   string
	}{
		{"leader", world(3), true, "db-1"},
		{"leader is ill", world(3, member(1, func(m *engine.Member) { m.Alarms = []string{"CORRUPT"} })), true, "db-2"},
		{"spare the leader", world(3), false, "db-2"},
		{"furthest", world(3, applying(3, "c1/2/101/50")), false, "db-3"},
		{"alone", world(1), false, "db-1"},
		{"never a learner", world(2, learner(2), member(1, func(m *engine.Member) { m.Serving = false })), false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := New().Source(c.view, c.leader); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
