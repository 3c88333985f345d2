package cli

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// world does what the plan predicts.
type world struct {
	c       *fakeClients
	mode    kube.DryRun
	wanted  *v1alpha1.DatabaseCluster
	key     client.ObjectKey
	facts   kube.Facts
	view    engine.View
	changed chan struct{}
	// raised are alarms that stand.
	raised []engine.Alarm
	// before is called before each step; an error fails it.
	before func(ops.Step) error
}

func (w *world) Observe(ctx context.Context) (ops.State, error) {
	s := ops.State{Now: noon, Kube: w.facts, View: w.view}
	c, err := w.c.store(w.mode).GetCluster(ctx, w.key.Namespace, w.key.Name)
	if errors.Is(err, kube.ErrNotFound) || errors.Is(err, kube.ErrDamaged) && w.wanted != nil {
		c, err = nil, nil
	}
	s.Cluster = c
	if s.Kube.Schedule == nil {
		s.Kube.Schedule = &kube.Schedule{Missing: []string{"ServiceAccount", "Role", "RoleBinding", "CronJob"}}
	}
	if err != nil || c == nil || len(w.facts.Members) == 0 {
		return s, err
	}
	n := planner.Predict(opstest.Engine{}, s, ops.Step{Action: ops.ActionWait})
	for i := range n.View.Members {
		m := &n.View.Members[i]
		m.DataBytes = 3 << 20
		for _, a := range w.raised {
			if a.Member == m.Name {
				m.Alarms = append(m.Alarms, a.Name)
			}
		}
	}
	n.View.Alarms = w.raised
	for i := range n.Kube.Members {
		n.Kube.Members[i].Pod.Node, n.Kube.Members[i].Volume.Capacity = "node-"+itoa(int64(i%2+1)), resource.MustParse("1Gi")
	}
	return n, ctx.Err()
}

func (w *world) Perform(ctx context.Context, s ops.State, step ops.Step, _ func(int64, int64)) (ops.Result, error) {
	if w.mode == kube.DryRunClient {
		return ops.Result{}, engine.ErrReadOnly
	}
	if w.mode == kube.DryRunServer {
		return ops.Result{}, nil
	}
	w.c.wrote(string(step.Action))
	if w.before != nil {
		if err := w.before(step); err != nil {
			return ops.Result{}, err
		}
	}
	n := planner.Predict(opstest.Engine{}, s, step)
	w.facts, w.view = n.Kube, n.View
	store := w.c.store(w.mode)
	if n.Cluster == nil {
		return ops.Result{}, store.DeleteCluster(ctx, s.Cluster)
	}
	c, err := store.GetCluster(ctx, w.key.Namespace, w.key.Name)
	if err != nil {
		return ops.Result{}, err
	}
	c.Status = n.Cluster.Status
	var facts map[string]string
	if n.Operation != nil {
		facts = n.Operation.Status.Facts
	}
	return ops.Result{Facts: facts}, store.UpdateCluster(ctx, c)
}

func (w *world) Save(ctx context.Context, op *v1alpha1.Operation) error {
	return w.c.store(w.mode).UpdateOperation(ctx, op)
}
func (w *world) Changed() <-chan struct{} { return w.changed }
func (w *world) Close() error             { return nil }

type lease struct{}

func (lease) Check(context.Context) error   { return nil }
func (lease) Lost() <-chan struct{}         { return nil }
func (lease) Release(context.Context) error { return nil }

func (lease) Regain(context.Context) (kube.Lease, error) { return nil, kube.ErrLeaseLost }

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
