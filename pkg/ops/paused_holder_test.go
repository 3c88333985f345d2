package ops

import (
	"context"
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// lostLease is what a holder has that stood still while another took over.
type lostLease struct{ kube.Lease }

func (lostLease) Check(context.Context) error { return kube.ErrLeaseLost }

// TestAPausedHolderSparesItsSuccessor: A observes and is suspended, B removes
// db-2 and makes another db-2, A wakes behind the question for its lease.
func TestAPausedHolderSparesItsSuccessor(t *testing.T) {
	for name, c := range map[string]struct {
		action Action
		// gone are the objects of db-2 that A sees gone already.
		gone []client.Object
		// asks says that A still asks for its lease before a deletion.
		asks bool
	}{
		"stops":                         {action: ActionStop},
		"fences":                        {action: ActionFence},
		"drops the volume":              {action: ActionDeleteVolume},
		"retires, of which a part went": {action: ActionRetire, gone: []client.Object{&appsv1.StatefulSet{}, &corev1.Pod{}}, asks: true},
		"deletes everything":            {action: ActionDeleteAll, asks: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.founded(2, "id")
			b.running("db-1", "db-2")
			for _, o := range c.gone {
				b.remove(o, "db-2")
			}
			a := b.live()
			s := b.observe(a)
			s.Operation = operation("")
			if c.asks {
				holding(a, lostLease{})
			}
			for _, o := range []client.Object{&corev1.Pod{}, &appsv1.StatefulSet{}, &corev1.PersistentVolumeClaim{}, &corev1.Secret{}} {
				b.remove(o, "db-2")
			}
			b.must(b.live().start(t.Context(), State{Cluster: b.cluster()}, []string{"db-2"}))
			b.pod("db-2")
			_, err := a.Perform(t.Context(), s, Step{Action: c.action, Members: []string{"db-2"}}, nil)
			if errors.Is(err, kube.ErrLeaseLost) != c.asks {
				t.Errorf("error %v", err)
			}
			for _, o := range []client.Object{&corev1.Pod{}, &appsv1.StatefulSet{}, &corev1.PersistentVolumeClaim{}, &corev1.Secret{}} {
				if !b.exists(o, nameOf(o, "db-2")) {
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
func (b *bench) remove(o client.Object, member string) {
	b.t.Helper()
	o.SetNamespace("shop")
	o.SetName(nameOf(o, member))
	b.must(client.IgnoreNotFound(b.server.raw.Delete(b.t.Context(), o)))
}

// TestDeregisterNamesTheIdentity: a name may be a successor's by then.
func TestDeregisterNamesTheIdentity(t *testing.T) {
	b := plain(t)
	l := b.live()
	s := b.observe(l)
	s.View.Roster = []engine.Registered{{ID: "7", Name: "db-2"}}
	step := Step{Action: ActionDeregister, Members: []string{"db-2"}}
	_, err := l.Perform(t.Context(), s, step, nil)
	b.must(err)
	if calls := b.database.last().calls; len(calls) != 1 || calls[0] != "deregister db-2 7" {
		t.Errorf("calls %q", calls)
	}
	b.database.last().err = engine.ErrNotReady
	if _, err := l.Perform(t.Context(), s, step, nil); !errors.Is(err, engine.ErrNotReady) {
		t.Errorf("the database asks to wait: %v", err)
	}
	s.View.Roster = nil
	if _, err := l.Perform(t.Context(), s, step, nil); err != nil || len(b.database.last().calls) != 2 {
		t.Errorf("it is in no list: %v, calls %q", err, b.database.last().calls)
	}
}
