package runner

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// flaky is a shelf on which every other write fails: before it was done, or
// after, so that only the answer is lost.
type flaky struct {
	*shelf

	lost bool
	err  error
	n    int
}

func (f *flaky) write(do func() error, unheard func()) error {
	if f.n++; f.n%2 == 0 {
		return do()
	}
	if f.lost {
		unheard()
	}
	return f.err
}

func (f *flaky) CreateCluster(ctx context.Context, c *v1alpha1.DatabaseCluster) error {
	return f.write(func() error { return f.shelf.CreateCluster(ctx, c) },
		func() { _ = f.shelf.CreateCluster(ctx, c.DeepCopy()) })
}

func (f *flaky) UpdateCluster(ctx context.Context, c *v1alpha1.DatabaseCluster) error {
	return f.write(func() error { return f.shelf.UpdateCluster(ctx, c) },
		func() { _ = f.shelf.UpdateCluster(ctx, c.DeepCopy()) })
}

func (f *flaky) CreateOperation(ctx context.Context, o *v1alpha1.Operation) error {
	return f.write(func() error { return f.shelf.CreateOperation(ctx, o) }, func() {
		unheard := o.DeepCopy()
		_ = f.shelf.CreateOperation(ctx, unheard)
		o.Name = unheard.Name // chosen before it is sent
	})
}

func (f *flaky) UpdateOperation(ctx context.Context, o *v1alpha1.Operation) error {
	return f.write(func() error { return f.shelf.UpdateOperation(ctx, o) },
		func() { _ = f.shelf.UpdateOperation(ctx, o.DeepCopy()) })
}

// TestRunnerRidesOutWrites lets every write fail once: the request comes to
// its end at the first go, under one record.
func TestRunnerRidesOutWrites(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		lost bool
		err  error
	}{
		{"refused for a moment", false, opstest.ErrStub},
		{"done, and the answer lost", true, opstest.ErrStub},
		{"a conflict where nobody wrote", false, kube.ErrConflict},
	} {
		t.Run(row.name, func(t *testing.T) {
			onShelf(t, func(sh *shelf, r *Runner) {
				r.Store = &flaky{shelf: sh, lost: row.lost, err: row.err}
				op, err := r.Run(context.Background(), "shop", scale(5))
				if err != nil || op.Status.Phase != v1alpha1.PhaseSucceeded || sh.cluster.Spec.Members != 5 {
					t.Fatalf("%v, %+v", err, op)
				}
				if n := len(sh.operations); n != 1 {
					t.Errorf("%d records", n)
				}
			})
		})
	}
}

// losing is a lease that is lost after a few observations.
type losing struct {
	free

	observations int
}

func (l *losing) Check(context.Context) error {
	if l.observations--; l.observations < 0 {
		return lease.ErrLost
	}
	return nil
}

// TestRunnerWritesNothingWithoutLease loses the lease between two tries.
func TestRunnerWritesNothingWithoutLease(t *testing.T) {
	t.Parallel()
	for observations, records := range []int{0, 0, 1, 1} {
		onShelf(t, func(sh *shelf, r *Runner) {
			r.Store = &flaky{shelf: sh, err: opstest.ErrStub}
			r.Lock = func(context.Context, string, string, lease.Scope, func(string, time.Duration)) (lease.Lease, error) {
				return &losing{observations: observations}, nil
			}
			if _, err := r.Run(context.Background(), "shop", scale(5)); !errors.Is(err, lease.ErrLost) {
				t.Errorf("lost after %d observations: %v", observations, err)
			}
			if len(sh.operations) != records || sh.cluster.Spec.Members != 3 {
				t.Errorf("lost after %d observations: %d records, %d members wanted", observations, len(sh.operations),
					sh.cluster.Spec.Members)
			}
		})
	}
}

// forgetful is a lease that is lost after some observations, and can be had back.
type forgetful struct {
	losing

	regained *int
}

func (f *forgetful) Regain(context.Context) (lease.Lease, error) {
	if *f.regained++; *f.regained == 1 {
		return nil, opstest.ErrStub // the API server is still away
	}
	return free{}, nil
}

// TestRunnerTakesALostLeaseBack goes on after an outage in which nobody else
// could act, under the same record, and no step is done twice.
func TestRunnerTakesALostLeaseBack(t *testing.T) {
	t.Parallel()
	for observations := 2; observations < 6; observations++ {
		onShelf(t, func(sh *shelf, r *Runner) {
			regained := 0
			r.Lock = func(context.Context, string, string, lease.Scope, func(string, time.Duration)) (lease.Lease, error) {
				return &forgetful{losing{observations: observations}, &regained}, nil
			}
			op, err := r.Run(context.Background(), "shop", scale(5))
			if err != nil || op.Status.Phase != v1alpha1.PhaseSucceeded || regained != 2 {
				t.Fatalf("lost after %d observations: %v, regained after %d tries, %+v", observations, err, regained, op)
			}
			if n := len(sh.operations); n != 1 {
				t.Errorf("lost after %d observations: %d records", observations, n)
			}
		})
	}
}
