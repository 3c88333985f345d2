package executor

import (
	"context"
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// lostLease is what a holder has that stood still while another took over.
type lostLease struct{ lease.Lease }

func (lostLease) Check(context.Context) error { return lease.ErrLost }

// TestAPausedHolderSparesItsSuccessor: A observes and is suspended, B removes
// db-2 and makes another db-2, A wakes behind the question for its lease.
func TestAPausedHolderSparesItsSuccessor(t *testing.T) {
	for name, c := range map[string]struct {
		action ops.Action
		// gone are the objects of db-2 that A sees gone already.
		gone []client.Object
		// asks says that A still asks for its lease before a deletion.
		asks bool
	}{
		"stops":            {action: ops.ActionStop},
		"fences":           {action: ops.ActionFence},
		"drops the volume": {action: ops.ActionDeleteVolume},
		"retires, of which a part went": {action: ops.ActionRetire,
			gone: []client.Object{&appsv1.StatefulSet{}, &corev1.Pod{}}, asks: true},
		"deletes everything": {action: ops.ActionDeleteAll, asks: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := opstest.NewBench(t)
			b.Founded(2, "id")
			running(b, "db-1", "db-2")
			for _, o := range c.gone {
				remove(b, o, "db-2")
			}
			a := liveOf(b)
			s := observation(b, a)
			s.Operation = opstest.Operation("")
			if c.asks {
				Holding(a, lostLease{})
			}
			for _, o := range []client.Object{&corev1.Pod{}, &appsv1.StatefulSet{}, &corev1.PersistentVolumeClaim{},
				&corev1.Secret{}} {
				remove(b, o, "db-2")
			}
			b.Must(liveOf(b).start(t.Context(), task{State: ops.State{Cluster: b.Cluster()},
				Step: ops.Step{Members: []string{"db-2"}}}))
			b.Pod("db-2")
			_, err := a.Perform(t.Context(), s, ops.Step{Action: c.action, Members: []string{"db-2"}}, nil)
			if errors.Is(err, lease.ErrLost) != c.asks {
				t.Errorf("error %v", err)
			}
			for _, o := range []client.Object{&corev1.Pod{}, &appsv1.StatefulSet{}, &corev1.PersistentVolumeClaim{},
				&corev1.Secret{}} {
				if !b.Exists(o, nameOf(o, "db-2")) {
					t.Errorf("%T of B is gone", o)
				}
			}
		})
	}
}

// nameOf is the name of an object of a member.
func nameOf(o client.Object, member string) string {
	switch o.(type) {
	case *corev1.Pod:
		return member + "-0"
	case *corev1.Secret:
		return member + "-tls"
	}
	return member
}

// remove deletes an object of a member behind everybody's back, if it is there.
func remove(b *opstest.Bench, o client.Object, member string) {
	b.T.Helper()
	o.SetNamespace("shop")
	o.SetName(nameOf(o, member))
	b.Must(client.IgnoreNotFound(b.Server.Raw.Delete(b.T.Context(), o)))
}

// TestDeregisterNamesTheIdentity: a name may be a successor's by then.
func TestDeregisterNamesTheIdentity(t *testing.T) {
	b := plain(t)
	l := liveOf(b)
	s := observation(b, l)
	s.View.MemberList = []engine.Registered{{ID: "7", Name: "db-2"}}
	step := ops.Step{Action: ops.ActionDeregister, Members: []string{"db-2"}}
	_, err := l.Perform(t.Context(), s, step, nil)
	b.Must(err)
	if calls := b.Database.Last().Calls; len(calls) != 1 || calls[0] != "deregister db-2 7" {
		t.Errorf("calls %q", calls)
	}
	b.Database.Last().Err = engine.ErrNotReady
	if _, err := l.Perform(t.Context(), s, step, nil); !errors.Is(err, engine.ErrNotReady) {
		t.Errorf("the database asks to wait: %v", err)
	}
	s.View.MemberList = nil
	if _, err := l.Perform(t.Context(), s, step, nil); err != nil || len(b.Database.Last().Calls) != 2 {
		t.Errorf("it is in no list: %v, calls %q", err, b.Database.Last().Calls)
	}
}
