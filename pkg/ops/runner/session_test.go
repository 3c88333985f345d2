package runner

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// drive works as a reconciler does, until the session ends.
func drive(ctx context.Context, s *Session) error {
	for {
		done, again, err := s.Next(ctx)
		if done || err != nil {
			return errors.Join(err, s.Close(ctx))
		}
		time.Sleep(again)
	}
}

// TestSessionTakesTheStepsOfTheLoop: for every road, an attempt at a time comes to
// the same steps, journal and end as a run without a stop.
func TestSessionTakesTheStepsOfTheLoop(t *testing.T) {
	t.Parallel()
	for _, r := range opstest.Roads() {
		t.Run(r.Name, func(t *testing.T) {
			var steps [2][]string
			var journals [2][]v1alpha1.JournalEntry
			var phases [2]v1alpha1.Phase
			for i, bySession := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					s := r.State()
					if s.Operation == nil {
						s.Operation = opstest.Operation(v1alpha1.VerbScale)
					}
					s.Operation.ResourceVersion, s.Cluster.ResourceVersion = "1", "1"
					s.Operation.Spec.Members, s.Operation.Spec.Version = s.Cluster.Spec.Members, s.Cluster.Spec.Version
					s.Operation.Spec.FromMembers, s.Operation.Spec.FromVersion = s.Cluster.Spec.Members, s.Cluster.Spec.Version
					s.Operation.Spec.Settings, s.Operation.Spec.FromSettings = v1alpha1.SettingsOf(&s.Cluster.Spec),
						v1alpha1.SettingsOf(&s.Cluster.Spec)
					if s.Operation.Spec.User == nil {
						s.Operation.Spec.User = &v1alpha1.DatabaseUser{Name: "app"}
					}
					sh := &shelf{cluster: s.Cluster.DeepCopy(),
						operations: []*v1alpha1.Operation{s.Operation.DeepCopy()}, version: 1,
						fuse: 1 << 30}
					w := newIdeal(s)
					runner := newRunner(sh, w)
					var err error
					if bySession {
						var session *Session
						if session, err = runner.Open(t.Context(), "shop", "db", nil, nil); err == nil {
							err = drive(t.Context(), session)
						}
					} else {
						_, err = runner.Resume(t.Context(), "shop", "db", s.Cancelling())
					}
					if err != nil {
						t.Fatal(err)
					}
					steps[i], journals[i], phases[i] = w.performed, sh.operations[0].Status.Journal, sh.operations[0].Status.Phase
				})
			}
			if diff := cmp.Diff(steps[0], steps[1]); diff != "" {
				t.Errorf("steps (-loop +session):\n%s", diff)
			}
			if diff := cmp.Diff(journals[0], journals[1]); diff != "" {
				t.Errorf("journal (-loop +session):\n%s", diff)
			}
			if phases[0] != phases[1] {
				t.Errorf("the loop ends %s, the session %s", phases[0], phases[1])
			}
		})
	}
}

func TestSessionOpens(t *testing.T) {
	t.Parallel()
	onShelf(t, func(sh *shelf, r *Runner) {
		ctx := context.Background()
		if _, err := r.Open(ctx, "shop", "db", nil, nil); ops.KindOf(err) != ops.Unchanged {
			t.Errorf("nothing in flight: %v", err)
		}
		request := scale(5)
		s, err := r.Open(ctx, "shop", "db", &request, nil)
		if err != nil || sh.cluster.Spec.Members != 5 || len(sh.operations) != 1 {
			t.Fatalf("%v, %d members wanted, %d records", err, sh.cluster.Spec.Members, len(sh.operations))
		}
		// The process dies here; the next one takes up the record, and steps it back.
		_ = s.Close(ctx)
		if s, err = r.Open(ctx, "shop", "db", nil,
			func(*v1alpha1.Operation) (bool, error) { return true, nil }); err != nil {
			t.Fatal(err)
		}
		if err := drive(ctx, s); err != nil || sh.operations[0].Status.Phase != v1alpha1.PhaseCancelled ||
			sh.cluster.Spec.Members != 3 {
			t.Errorf("%v, %s, %d members wanted", err, sh.operations[0].Status.Phase, sh.cluster.Spec.Members)
		}
		sh.operations = append(sh.operations, opstest.Operation(v1alpha1.VerbDelete))
		if _, err := r.Open(ctx, "shop", "db", nil, func(*v1alpha1.Operation) (bool, error) {
			return true,
				nil
		}); ops.KindOf(err) != ops.Refused {
			t.Errorf("a deletion has no way back: %v", err)
		}
	})
}

// TestSessionAgrees: a wish that changes nothing about the members is written
// down all the same, or it would be asked for again for ever.
func TestSessionAgrees(t *testing.T) {
	t.Parallel()
	onShelf(t, func(sh *shelf, r *Runner) {
		request := scale(3)
		sh.cluster.Spec.Members = 5
		r.Cluster = func(string, string) ops.ClosableCluster { return shelved{newIdeal(opstest.Well(3)), sh} }
		_, err := r.Open(context.Background(), "shop", "db", &request, nil)
		if ops.KindOf(err) != ops.Unchanged || sh.cluster.Spec.Members != 3 || len(sh.operations) != 0 {
			t.Errorf("%v, %d members wanted, %d records", err, sh.cluster.Spec.Members, len(sh.operations))
		}
	})
}

// TestSessionNeverSleeps: a process that alternates between many clusters must get its
// worker back at once, and be told when to come again.
func TestSessionNeverSleeps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := growing()
		s.Operation.ResourceVersion = "1"
		s.Operation.Spec.Members = 4
		sh := &shelf{cluster: s.Cluster.DeepCopy(), operations: []*v1alpha1.Operation{s.Operation.DeepCopy()}, version: 1,
			fuse: 1 << 30}
		w := newIdeal(s)
		w.calm = -1
		w.perform = func(ops.Step) error { return engine.ErrNotReady }
		session, err := newRunner(sh, w).Open(t.Context(), "shop", "db", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for range 5 {
			if _, again, err := session.Next(t.Context()); err != nil || again <= 0 {
				t.Errorf("come again in %s, %v", again, err)
			}
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("five attempts slept for %s", took)
		}
	})
}

// sunk is a lease that is gone.
type sunk struct{ free }

func (sunk) Lost() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func (sunk) Check(context.Context) error { return lease.ErrLost }

func TestSessionEndsWithItsLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := growing()
		s.Operation.ResourceVersion = "1"
		sh := &shelf{cluster: s.Cluster.DeepCopy(), operations: []*v1alpha1.Operation{s.Operation.DeepCopy()}, version: 1,
			fuse: 1 << 30}
		w := newIdeal(s)
		session, err := newRunner(sh, w).Open(t.Context(), "shop", "db", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		session.lease = sunk{}
		session.loop.Guard = sunk{}.Check
		if _, _, err := session.Next(t.Context()); !errors.Is(err, lease.ErrLost) || len(w.performed) != 0 {
			t.Errorf("%v, performed %v", err, w.performed)
		}
	})
}
