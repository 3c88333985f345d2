package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/policy"
)

// DelegatingRunner is a Runner that knows of operators: where one is alive for a
// cluster, a request is written down and watched; the operator carries it out.
// Everywhere else it is the Runner.
type DelegatingRunner struct {
	*Runner
	CustomResources CustomResources
	// Mounted are the repositories whose claims are mounted into this very pod,
	// by URL: a second pod, on another node, may wait for such a claim for ever.
	Mounted map[string]string
}

// here is the repository of a request that only this process has at hand; "" if
// an operator can open it as well.
func (b *DelegatingRunner) here(o v1alpha1.OperationSpec) string {
	if b.Mounted[o.Repository] != "" {
		return o.Repository
	}
	return policy.DirectoryOf(o)
}

// watchEvery is the pause between two observations of a record that somebody else works on.
const watchEvery = 300 * time.Millisecond

// Run implements the command line's view of a Runner.
func (b *DelegatingRunner) Run(ctx context.Context, namespace string, req planner.Request) (*v1alpha1.Operation,
	error) {
	alive, err := b.alive(ctx, namespace, req.Operation)
	if err != nil {
		return nil, err
	}
	if !alive || b.here(req.Operation) != "" {
		return b.Runner.Run(ctx, namespace, req)
	}
	s, err := b.Open(ctx, namespace, req.Operation.Cluster, &req, nil)
	if err != nil {
		return nil, err
	}
	op := s.Operation()
	if err := s.Close(ctx); err != nil {
		b.Reporter.Note("the lease could not be given back: " + err.Error())
	}
	return b.follow(ctx, op)
}

// Resume implements the command line's view of a Runner. The operator may hold
// the lease: the record alone says what is wanted of it.
func (b *DelegatingRunner) Resume(ctx context.Context, namespace, cluster string, cancel bool) (*v1alpha1.Operation,
	error) {
	alive, err := b.alive(ctx, namespace, v1alpha1.OperationSpec{Cluster: cluster})
	if err != nil {
		return nil, err
	}
	if f, err := b.flight(ctx, namespace, cluster); err != nil {
		return nil, err
	} else if active := f.First(); !alive || active != nil && policy.NeededDirectory(active) != "" {
		return b.Runner.Resume(ctx, namespace, cluster, cancel)
	}
	if cancel {
		if err := b.judgeBack(ctx, namespace, cluster); err != nil {
			return nil, err
		}
	}
	lifted, err := SetPaused(ctx, b.Store, namespace, cluster, nil)
	if err != nil {
		return nil, err
	}
	f, err := b.flight(ctx, namespace, cluster)
	op := f.First()
	switch {
	case err != nil:
		return nil, err
	case op == nil && lifted:
		return nil, nil
	case op == nil:
		return nil, &ops.Error{Kind: ops.Unchanged, Message: "no operation of " + cluster + " is in flight"}
	}
	if cancel {
		if err := b.mayCancel(ctx, op); err != nil {
			return nil, err
		}
		if err := b.turnBack(ctx, op); err != nil {
			return nil, err
		}
		b.noteBeside(f)
	}
	return b.follow(ctx, op)
}

// turnBack has the record and what is wanted say that an operation goes back.
func (b *DelegatingRunner) turnBack(ctx context.Context, op *v1alpha1.Operation) error {
	for try := 1; ; try++ {
		op.Status.Phase = v1alpha1.PhaseCancelling
		err := b.Store.UpdateOperation(ctx, op)
		if err == nil {
			break
		}
		if !errors.Is(err, kube.ErrConflict) || try == ops.Attempts {
			return err
		}
		stored, err := b.Store.GetOperation(ctx, op.Namespace, op.Name)
		if err != nil {
			return err
		}
		*op = *stored
	}
	return ops.Retry(ctx, func() error {
		c, err := b.Store.GetCluster(ctx, op.Namespace, op.Spec.Cluster)
		if err != nil || !planner.ApplyTo(c, op) {
			return err
		}
		return b.Store.UpdateCluster(ctx, c)
	})
}

// alive reports whether an operator acts on the cluster, and says which it is.
func (b *DelegatingRunner) alive(ctx context.Context, namespace string, o v1alpha1.OperationSpec) (bool, error) {
	c, err := b.Store.GetCluster(ctx, namespace, o.Cluster)
	if ops.NoRecord(err) || err == nil && c.Annotations[v1alpha1.AnnotationCustom] == "" {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if o.Verb == v1alpha1.VerbDelete {
		if _, err := b.CustomResources.GetCustom(ctx, namespace, o.Cluster); errors.Is(err, kube.ErrNotFound) {
			b.Reporter.Note("databasecluster " + o.Cluster + " is missing: acting without an operator.")
			return false, nil
		}
		return false, &ops.Error{Kind: ops.Refused, Check: "custom-resource",
			Message: fmt.Sprintf("cluster %s belongs to databasecluster %s, which would ask for it again",
				o.Cluster, o.Cluster),
			Hint: fmt.Sprintf(
				"delete that: kubectl delete dbc %s -n %s; or take the cluster from under it: kubectl dbop operator release %s",
				o.Cluster, namespace, o.Cluster)}
	}
	alive, err := b.CustomResources.OperatorAlive(ctx, namespace, o.Cluster)
	if err != nil {
		return false, err
	}
	if at := b.here(o); at != "" && alive {
		b.Reporter.Note(at + " is a directory of this machine: acting without the operator, which does not have it.")
	} else if alive {
		b.Reporter.Note("An operator manages " + o.Cluster + ": it carries this out.")
	} else {
		b.Reporter.Note("No operator is alive for " + o.Cluster + ": acting without one.")
	}
	return alive, nil
}

// follow tells of a record that somebody else works on, until it comes to its
// end or to a stop.
func (b *DelegatingRunner) follow(ctx context.Context, op *v1alpha1.Operation) (*v1alpha1.Operation, error) {
	told, why := map[int]bool{}, ""
	for {
		stored, err := b.Store.GetOperation(ctx, op.Namespace, op.Name)
		switch {
		case err == nil:
			op = stored
		case ctx.Err() == nil && !ops.Transient(err):
			return op, err
		}
		b.tell(op, told)
		if why != op.Status.Message && op.Status.Message != "" {
			why = op.Status.Message
			b.Reporter.Waiting(ops.Step{ID: "wait/operator", Action: ops.ActionWait, Title: "Wait for the operator"}, why)
		}
		switch op.Status.Phase {
		case v1alpha1.PhaseSucceeded:
			return op, nil
		case v1alpha1.PhaseCancelled:
			if strings.HasPrefix(op.Status.Message, supersededBy) {
				return op, &ops.Error{Kind: ops.Failed, Check: checkSuperseded,
					Message: fmt.Sprintf("operation %s was %s before it had started", op.Name, op.Status.Message),
					Hint:    "kubectl dbop status " + op.Spec.Cluster}
			}
			return op, nil
		case v1alpha1.PhaseFailed:
			return op, &ops.Error{Kind: ops.Failed, Check: "operator", Message: op.Status.Message,
				Hint: "nothing was changed; correct that and repeat the command"}
		case v1alpha1.PhasePaused:
			return op, &ops.Error{Kind: ops.NeedsHuman, Check: "operator", Message: op.Status.Message,
				Hint: "the operator tries again by itself" + planner.Verbs().OrBack(op, b.recorded(ctx, op))}
		}
		timer := time.NewTimer(watchEvery)
		select {
		case <-timer.C:
		case <-b.Stop:
			return op, &ops.Error{Kind: ops.Interrupted, Message: "not watched any more",
				Hint: "the operator goes on: kubectl dbop status " + op.Spec.Cluster}
		case <-ctx.Done():
			return op, ops.OutOfTime(nil, "the operator goes on: kubectl dbop status "+op.Spec.Cluster)
		}
	}
}

// tell reports the entries of the journal that are new.
func (b *DelegatingRunner) tell(op *v1alpha1.Operation, told map[int]bool) {
	for i, e := range op.Status.Journal {
		step := ops.Step{ID: e.Step, Title: e.Title}
		ended, known := told[i]
		if !known {
			b.Reporter.Started(step)
			told[i] = false
		}
		if ended || e.FinishedAt == nil {
			continue
		}
		told[i] = true
		var err error
		if e.Error != "" {
			err = errors.New(e.Error)
		}
		b.Reporter.Done(step, e.FinishedAt.Sub(e.StartedAt.Time), err)
	}
}
