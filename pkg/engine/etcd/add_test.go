package etcd

import (
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

func TestCheckAdd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		view          engine.View
		check, reason string
	}{
		{name: "one", view: world(1)},
		{name: "three", view: world(3)},
		{name: "the most", view: world(7), check: "members", reason: "7 voters"},
		{name: "three with one down", view: world(3, down(2)), check: "members-healthy",
			reason: "2 of 3 voters are connected and a cluster of 4 needs 3"},
		{name: "five with one down", view: world(5, down(2)), check: "members-healthy",
			reason: "bring it back or remove it"},
		{name: "no quorum", view: world(3, noQuorum), check: "quorum", reason: "no quorum"},
		{name: "split", view: world(3, split), check: "split", reason: "2 different clusters"},
		{name: "open learner", view: world(3, learner(3)), check: "learner-open", reason: "db-3"},
		{name: "unstarted", view: world(3, unstarted(3)), check: "unstarted-member", reason: "db-3"},
		{name: "alarm", view: world(3, member(2, func(m *engine.Member) { m.Alarms = []string{"NOSPACE"} })),
			check: "members-healthy", reason: "NOSPACE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			expect(t, New().CheckAdd(c.view), c.check, c.reason)
		})
	}
}
