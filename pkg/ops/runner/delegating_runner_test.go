package runner

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// heard keeps what a reporter was told.
type heard struct {
	ops.Silent

	lines []string
}

func (h *heard) Started(s ops.Step) { h.lines = append(h.lines, "started "+s.ID) }

func (h *heard) Done(s ops.Step, _ time.Duration, _ error) { h.lines = append(h.lines, "done "+s.ID) }

func (h *heard) Note(text string) { h.lines = append(h.lines, text) }

// delegating is a command line delegating an operator that is alive, or not.
func delegating(sh *shelf, r *Runner, alive bool) (*DelegatingRunner, *heard) {
	h := &heard{}
	sh.cluster.Annotations = map[string]string{v1alpha1.AnnotationCustom: "uid"}
	own := *r
	own.Reporter = h
	return &DelegatingRunner{Runner: &own, CustomResources: &customResources{alive: alive, one: sh.cluster.DeepCopy()}}, h
}

// TestDelegatingRunnerHasTheOperatorAct: the request is written down and watched; the
// steps are the operator's.
func TestDelegatingRunnerHasTheOperatorAct(t *testing.T) {
	t.Parallel()
	onShelf(t, func(sh *shelf, r *Runner) {
		b, h := delegating(sh, r, true)
		go func() {
			time.Sleep(5 * time.Second)
			s, err := r.Open(context.Background(), "shop", "db", nil, nil)
			if err == nil {
				err = drive(context.Background(), s)
			}
			if err != nil {
				t.Error(err)
			}
		}()
		op, err := b.Run(context.Background(), "shop", scale(4))
		if err != nil || op.Status.Phase != v1alpha1.PhaseSucceeded || sh.cluster.Spec.Members != 4 {
			t.Fatalf("%v, %+v", err, op)
		}
		want := []string{"An operator manages db: it carries this out."}
		for _, id := range growth() {
			want = append(want, "started "+id, "done "+id)
		}
		if diff := cmp.Diff(want, h.lines); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
	})
}

func TestDelegatingRunnerActsAlone(t *testing.T) {
	t.Parallel()
	onShelf(t, func(sh *shelf, r *Runner) {
		b, h := delegating(sh, r, false)
		if op, err := b.Run(context.Background(), "shop", scale(4)); err != nil ||
			op.Status.Phase != v1alpha1.PhaseSucceeded {
			t.Fatalf("%v, %+v", err, op)
		}
		if len(h.lines) == 0 || h.lines[0] != "No operator is alive for db: acting without one." {
			t.Errorf("told %v", h.lines)
		}
	})
}

func TestDelegatingRunnerRefusesToDelete(t *testing.T) {
	t.Parallel()
	onShelf(t, func(sh *shelf, r *Runner) {
		b, _ := delegating(sh, r, true)
		_, err := b.Run(context.Background(), "shop", planner.Request{Operation: v1alpha1.OperationSpec{Cluster: "db",
			Verb: v1alpha1.VerbDelete, Waive: []string{"backup"}}})
		if ops.KindOf(err) != ops.Refused || len(sh.operations) != 0 {
			t.Errorf("%v, %d records", err, len(sh.operations))
		}
	})
}

// TestDelegatingRunnerDeletesWithoutAnObject: where the custom resource is missing, the
// command is the way to end the database.
func TestDelegatingRunnerDeletesWithoutAnObject(t *testing.T) {
	t.Parallel()
	onShelf(t, func(sh *shelf, r *Runner) {
		b, _ := delegating(sh, r, false)
		b.CustomResources = &customResources{}
		op, err := b.Run(context.Background(), "shop", planner.Request{Operation: v1alpha1.OperationSpec{Cluster: "db",
			Verb: v1alpha1.VerbDelete, Waive: []string{"backup"}}})
		if err != nil || op.Status.Phase != v1alpha1.PhaseSucceeded || sh.cluster != nil {
			t.Errorf("%v, %+v", err, op)
		}
	})
}

// TestDelegatingRunnerCancels: the record says that it goes back, and so does what is wanted.
func TestDelegatingRunnerCancels(t *testing.T) {
	t.Parallel()
	onShelf(t, func(sh *shelf, r *Runner) {
		b, _ := delegating(sh, r, true)
		op := opstest.Operation(v1alpha1.VerbScale)
		op.Spec.Members, op.Spec.FromMembers, op.ResourceVersion, op.Spec.Repository = 5, 3, "0", ""
		sh.operations, sh.cluster.Spec.Members = append(sh.operations, op), 5
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_, err := b.Resume(ctx, "shop", "db", true)
		if ops.KindOf(err) != ops.TimedOut || sh.operations[0].Status.Phase != v1alpha1.PhaseCancelling ||
			sh.cluster.Spec.Members != 3 {
			t.Errorf("%v, %s, %d members wanted", err, sh.operations[0].Status.Phase, sh.cluster.Spec.Members)
		}
	})
}

// unreadable is a store whose record of the cluster is damaged.
type unreadable struct{ store.Store }

func (unreadable) GetCluster(context.Context, string, string) (*v1alpha1.DatabaseCluster, error) {
	return nil, store.ErrDamaged
}

// TestDelegatingRunnerRepairsADamagedRecord: a record that can't be read names no
// operator, and its repair must not fail on it.
func TestDelegatingRunnerRepairsADamagedRecord(t *testing.T) {
	t.Parallel()
	b := &DelegatingRunner{Runner: &Runner{Store: unreadable{}}}
	alive, err := b.alive(t.Context(), "shop", v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbRepair})
	if alive || err != nil {
		t.Errorf("%v, %v", alive, err)
	}
}
