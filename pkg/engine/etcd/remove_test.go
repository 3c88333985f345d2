package etcd

import (
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

func TestCheckRemove(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		view          engine.View
		member        string
		check, reason string
	}{
		{name: "one of three", view: world(3), member: "db-3"},
		{name: "one of two", view: world(2), member: "db-2"},
		{name: "the last", view: world(1), member: "db-1", check: "last-member", reason: "db-1"},
		{name: "the dead one", view: world(3, down(2)), member: "db-2"},
		{name: "a living one beside a dead one", view: world(3, down(2)), member: "db-3", check: "quorum",
			reason: "1 healthy voters of 2 and etcd needs 2"},
		{name: "a living one of five beside a dead one", view: world(5, down(2)), member: "db-3"},
		{name: "a living one of five beside two dead ones", view: world(5, down(2), down(4)), member: "db-3",
			check:  "quorum",
			reason: "2 healthy voters of 4 and etcd needs 3"},
		{name: "a learner while one is down", view: world(4, learner(4), down(2)), member: "db-4"},
		{name: "an unstarted learner", view: world(2, unstarted(2)), member: "db-2"},
		{name: "gone already", view: world(3), member: "db-9"},
		{name: "no quorum", view: world(3, noQuorum), member: "db-2", check: "quorum", reason: "no quorum"},
		{name: "split", view: world(3, split), member: "db-2", check: "split", reason: "clusters"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			expect(t, New().CheckRemove(c.view, c.member), c.check, c.reason)
		})
	}
}
