package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// shelf is a store.Store in memory. Its fuse counts the writes until it breaks.
type shelf struct {
	store.Store

	cluster    *v1alpha1.DatabaseCluster
	operations []*v1alpha1.Operation
	version    int
	fuse       int
}

var errBroken = errors.New("the process died")

func (s *shelf) write(version *string) error {
	if s.fuse--; s.fuse < 0 {
		return errBroken
	}
	s.version++
	*version = strconv.Itoa(s.version)
	return nil
}

func (s *shelf) GetCluster(context.Context, string, string) (*v1alpha1.DatabaseCluster, error) {
	if s.cluster == nil {
		return nil, kube.ErrNotFound
	}
	return s.cluster.DeepCopy(), nil
}

func (s *shelf) CreateCluster(_ context.Context, c *v1alpha1.DatabaseCluster) error {
	if s.cluster != nil {
		return kube.ErrExists
	}
	if err := s.write(&c.ResourceVersion); err != nil {
		return err
	}
	s.cluster = c.DeepCopy()
	return nil
}

func (s *shelf) UpdateCluster(_ context.Context, c *v1alpha1.DatabaseCluster) error {
	if c.ResourceVersion != s.cluster.ResourceVersion {
		return kube.ErrConflict
	}
	if err := s.write(&c.ResourceVersion); err != nil {
		return err
	}
	s.cluster = c.DeepCopy()
	return nil
}

func (s *shelf) CreateOperation(ctx context.Context, o *v1alpha1.Operation) error {
	if have, _ := s.GetOperation(ctx, "", o.Name); have != nil {
		return kube.ErrExists
	}
	if err := s.write(&o.ResourceVersion); err != nil {
		return err
	}
	o.Name = fmt.Sprint("db.op-", len(s.operations))
	s.operations = append(s.operations, o.DeepCopy())
	return nil
}

func (s *shelf) UpdateOperation(_ context.Context, o *v1alpha1.Operation) error {
	for i, have := range s.operations {
		if have.Name != o.Name {
			continue
		}
		if have.ResourceVersion != o.ResourceVersion {
			return kube.ErrConflict
		}
		if err := s.write(&o.ResourceVersion); err != nil {
			return err
		}
		s.operations[i] = o.DeepCopy()
		return nil
	}
	return kube.ErrNotFound
}

func (s *shelf) GetOperation(_ context.Context, _, name string) (*v1alpha1.Operation, error) {
	for _, o := range s.operations {
		if o.Name == name {
			return o.DeepCopy(), nil
		}
	}
	return nil, kube.ErrNotFound
}

func (s *shelf) ActiveOperations(context.Context, string, string) (out []v1alpha1.Operation, _ error) {
	for _, o := range s.operations {
		if o.Active() {
			out = append(out, *o.DeepCopy())
		}
	}
	return out, nil
}

// first is the operation in flight, and without one the backup; nil for nothing.
func (s *shelf) first() *v1alpha1.Operation {
	active, _ := s.ActiveOperations(context.Background(), "", "")
	return planner.Verbs().Flight(active).First()
}

func (s *shelf) ListOperations(context.Context, string, string) ([]v1alpha1.Operation, error) {
	var out []v1alpha1.Operation
	for _, o := range slices.Backward(s.operations) {
		out = append(out, *o.DeepCopy())
	}
	return out, nil
}

// shelved is an ideal world whose records are on a shelf.
type shelved struct {
	*ideal

	shelf *shelf
}

func (w shelved) Observe(ctx context.Context) (ops.State, error) {
	w.state.Operation = w.shelf.first()
	w.state.Cluster = w.shelf.cluster.DeepCopy()
	return w.ideal.Observe(ctx)
}

func (w shelved) Perform(ctx context.Context, s ops.State, step ops.Step, report func(int64, int64)) (ops.Result,
	error) {
	r, err := w.ideal.Perform(ctx, s, step, report)
	if c := w.state.Cluster; err == nil && c != nil {
		w.shelf.cluster.Spec, w.shelf.cluster.Status = *c.Spec.DeepCopy(), *c.Status.DeepCopy()
	} else if err == nil {
		w.shelf.cluster = nil
	}
	return r, err
}

func (w shelved) Save(ctx context.Context, op *v1alpha1.Operation) error {
	return ops.SaveRecord(ctx, w.shelf, op)
}

// free is a lease that nobody else wants.
type free struct{}

func (free) Check(context.Context) error { return nil }

func (free) Lost() <-chan struct{} { return nil }

func (free) Release(context.Context) error { return nil }

func (free) Regain(context.Context) (lease.Lease, error) { return nil, lease.ErrLost }

func newRunner(sh *shelf, w *ideal) *Runner {
	return &Runner{Engine: opstest.Stub{}, Store: sh, Reporter: ops.Silent{}, Poll: time.Second,
		Cluster: func(string, string) ops.ClosableCluster { return shelved{w, sh} },
		Lock: func(context.Context, string, string, lease.Scope, func(string, time.Duration)) (lease.Lease, error) {
			return free{}, nil
		}}
}

func scale(to int32) planner.Request {
	return planner.Request{Operation: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbScale,
		SizeParameters: v1alpha1.SizeParameters{Members: to},
		Waive:          []string{"size"}}}
}

// onShelf runs a test in virtual time over a healthy cluster of three.
func onShelf(t *testing.T, f func(*shelf, *Runner)) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		s := opstest.Well(3)
		sh := &shelf{cluster: s.Cluster.DeepCopy(), fuse: 1 << 30}
		sh.cluster.ResourceVersion = "0"
		f(sh, newRunner(sh, newIdeal(s)))
	})
}
