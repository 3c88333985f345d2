package executor

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// TestRemovalIsWrittenDownFirst: a process that dies right before or after the member list
// changes leaves a record that says whose volume may go. A successor ends that.
func TestRemovalIsWrittenDownFirst(t *testing.T) {
	b := plain(t)
	says := func(want ...string) {
		t.Helper()
		c, err := b.Store().GetCluster(t.Context(), "shop", "db")
		b.Must(err)
		if diff := cmp.Diff(want, c.Status.Bootstrap.Removing); diff != "" {
			t.Errorf("being removed (-want +got):\n%s", diff)
		}
	}
	act := func(action ops.Action) error {
		l := liveOf(b)
		s := observation(b, l)
		s.View.MemberList = []engine.Registered{{ID: "2", Name: "db-2", Voter: true, Started: true}}
		_, err := l.Perform(t.Context(), s, ops.Step{Action: action, Members: []string{"db-2"}}, func(int64, int64) {})
		return err
	}
	b.Database.Model.Err = engine.ErrNotReady
	if err := act(ops.ActionDeregister); !errors.Is(err, engine.ErrNotReady) {
		t.Fatalf("the database was not asked: %v", err)
	}
	says("db-2")
	b.Database.Model.Err = nil
	b.Must(act(ops.ActionRegister))
	says()
	b.Must(act(ops.ActionDeregister))
	says("db-2")
	b.Must(act(ops.ActionKeep))
	says()
}
