package runner

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// backingUp is a request for the backup that inJob takes.
func backingUp() planner.Request {
	return planner.Request{Operation: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbBackup,
		Repository: "offsite", Backup: "b2"}}
}

// takenBySomebody has a living process hold the lease of backups until its record says that it is to stop.
func takenBySomebody(sh *shelf, r *Runner, stops bool) {
	free := r.Lock
	r.Lock = func(ctx context.Context, namespace, cluster string, scope lease.Scope,
		waiting func(string, time.Duration)) (lease.Lease, error) {
		if scope == lease.Backup && (!stops || sh.operations[0].Status.Phase != v1alpha1.PhaseCancelling) {
			return nil, &lease.HeldError{Cluster: cluster, Scope: scope, Holder: "bob@elsewhere"}
		}
		return free(ctx, namespace, cluster, scope, waiting)
	}
}

// TestBeside: what leaves the source of a backup alone goes on beside it, and what does not waits for the process or
// the Job that takes it.
func TestBeside(t *testing.T) {
	t.Parallel()
	remove := planner.Request{Operation: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbDelete,
		Waive: []string{"backup"}}}
	runs := func(source string) ops.JobState { return ops.JobState{Runs: true, Source: source} }
	for name, c := range map[string]struct {
		req   planner.Request
		job   ops.JobState
		taken bool
		// refused is part of the refusal; goesOn: the record and the Job of the backup stay as they are.
		refused string
		goesOn  bool
	}{
		"another member leaves":             {scale(2), runs("db-1"), false, "", true},
		"another member leaves, by command": {scale(2), runs("db-1"), true, "", true},
		"members join":                      {scale(5), runs("db-1"), true, "", true},
		"its source leaves": {scale(2), runs("db-3"), false,
			"backup b1 is being taken from db-3 (job b1 takes it), and would not outlast the step: ", true},
		"its source is not known":              {scale(2), runs(""), false, "taken from a member of db", true},
		"the Job has not started":              {scale(2), ops.JobState{Source: "db-3"}, true, "by bob@elsewhere", true},
		"the Job is done":                      {scale(2), ops.JobState{Done: true, Source: "db-3"}, false, "", true},
		"nobody takes it":                      {scale(2), ops.JobState{}, false, "", false},
		"a deletion":                           {remove, runs("db-1"), false, "", false},
		"a deletion, and somebody takes it":    {remove, runs("db-1"), true, "", false},
		"a deletion, and the Job is done":      {remove, ops.JobState{Done: true}, false, "", false},
		"what is as requested already":         {scale(3), runs("db-1"), false, "as requested", true},
		"another backup":                       {otherBackup(), runs("db-1"), false, "outlast the step: back up", true},
		"another backup, and somebody has one": {otherBackup(), runs("db-1"), true, "taken by bob@elsewhere", true},
		"the same, and somebody takes it":      {backingUp(), runs("db-1"), true, "taken by bob@elsewhere", true},
	} {
		t.Run(name, func(t *testing.T) {
			onShelf(t, func(sh *shelf, r *Runner) {
				sh.operations = []*v1alpha1.Operation{inJob(v1alpha1.VerbBackup)}
				w := newIdeal(opstest.Well(3))
				w.job = c.job
				r.Cluster = func(string, string) ops.ClosableCluster { return shelved{w, sh} }
				if c.taken {
					takenBySomebody(sh, r, false)
				}
				_, err := r.Run(context.Background(), "shop", c.req)
				if (err != nil) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused) {
					t.Fatalf("got %v", err)
				}
				if err != nil && ops.KindOf(err) == ops.Busy && !strings.Contains(opstest.HintOf(err), "kubectl dbop cancel db") {
					t.Errorf("no way out: %q", opstest.HintOf(err))
				}
				stopped := slices.Contains(w.performed, "stop-backup/b1")
				if goesOn := sh.operations[0].Active() && !stopped; goesOn != c.goesOn {
					t.Errorf("performed %v, then the backup is %+v", w.performed, sh.operations[0].Status)
				}
			})
		})
	}
}

// otherBackup is into another repository.
func otherBackup() planner.Request {
	r := backingUp()
	r.Operation.Repository = "other"
	return r
}

// TestBackupGoesOnBesideAnother: a repeat of its command goes on with it while a process has the lease of the cluster
// for something else. A new one waits.
func TestBackupGoesOnBesideAnother(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		req  planner.Request
		done bool
	}{"the same": {backingUp(), true}, "another": {otherBackup(), false}} {
		t.Run(name, func(t *testing.T) {
			onShelf(t, func(sh *shelf, r *Runner) {
				scaling := opstest.Operation(v1alpha1.VerbScale)
				scaling.Name, scaling.ResourceVersion, scaling.Namespace = "db.op-1", "0", "shop"
				scaling.Spec.Members = 5
				sh.operations = []*v1alpha1.Operation{inJob(v1alpha1.VerbBackup), scaling}
				sh.cluster.Spec.Members = 5 // what is wanted of the cluster by now is none of the backup's business
				free := r.Lock
				r.Lock = func(ctx context.Context, namespace, cluster string, scope lease.Scope,
					waiting func(string, time.Duration)) (lease.Lease, error) {
					if scope == lease.Cluster {
						return nil, &lease.HeldError{Cluster: cluster, Scope: scope, Holder: "bob@elsewhere"}
					}
					return free(ctx, namespace, cluster, scope, waiting)
				}
				w := newIdeal(opstest.Well(3))
				r.Cluster = func(string, string) ops.ClosableCluster { return shelved{w, sh} }
				op, err := r.Run(context.Background(), "shop", c.req)
				if (err == nil) != c.done || !sh.operations[1].Active() {
					t.Fatalf("%v, %+v", err, sh.operations[1].Status)
				}
				if c.done && (op.Name != "db.op-0" || !slices.Equal(w.performed, []string{"backup/b1"})) {
					t.Errorf("%s: performed %v", op.Name, w.performed)
				}
			})
		})
	}
}

// TestCancelMeetsTwo: the ordinary operation is stepped back first, and then the backup, even if a process takes it.
func TestCancelMeetsTwo(t *testing.T) {
	t.Parallel()
	onShelf(t, func(sh *shelf, r *Runner) {
		scaling := opstest.Operation(v1alpha1.VerbScale)
		scaling.Name, scaling.ResourceVersion, scaling.Namespace = "db.op-1", "0", "shop"
		scaling.Spec.Members, scaling.Spec.FromMembers = 3, 3
		sh.operations = []*v1alpha1.Operation{inJob(v1alpha1.VerbBackup), scaling}
		takenBySomebody(sh, r, true)
		told := &notes{}
		r.Reporter = told
		op, err := r.Resume(context.Background(), "shop", "db", true)
		if err != nil || op.Name != "db.op-1" || !sh.operations[0].Active() || !strings.Contains(told.text, "b1 goes on") {
			t.Fatalf("%v, %+v; told %q", err, sh.operations[0].Status, told.text)
		}
		op, err = r.Resume(context.Background(), "shop", "db", true)
		if err != nil || op.Name != "db.op-0" || sh.operations[0].Status.Phase != v1alpha1.PhaseCancelled {
			t.Fatalf("%v, %+v", err, sh.operations[0].Status)
		}
	})
}

// notes keeps what is told.
type notes struct {
	ops.Silent

	text string
}

func (n *notes) Note(text string) { n.text += text }

// TestCancelledElsewhere: a process that takes a backup steps it back by itself once the record says so, and its
// command fails.
func TestCancelledElsewhere(t *testing.T) {
	t.Parallel()
	for name, streams := range map[string]bool{"between two tries": false, "in the middle of a stream": true} {
		t.Run(name, func(t *testing.T) {
			onShelf(t, func(sh *shelf, r *Runner) {
				w := newIdeal(opstest.Well(3))
				r.Lock = func(context.Context, string, string, lease.Scope, func(string, time.Duration)) (lease.Lease, error) {
					return kept{}, nil
				}
				w.perform = func(step ops.Step) error {
					if step.Action != ops.ActionBackup {
						return nil
					}
					if err := r.markCancelling(context.Background(), sh.operations[0]); err != nil {
						return err
					}
					if streams {
						time.Sleep(2 * rewrittenEvery)
					}
					return errors.New("the stream broke off")
				}
				r.Cluster = func(string, string) ops.ClosableCluster { return shelved{w, sh} }
				_, err := r.Run(context.Background(), "shop", backingUp())
				if failed, ok := errors.AsType[*ops.Error](err); !ok || failed.Check != "cancelled" ||
					sh.operations[0].Status.Phase != v1alpha1.PhaseCancelled {
					t.Errorf("%v, %+v", err, sh.operations[0].Status)
				}
				if !slices.Contains(w.performed, "stop-backup/b2") {
					t.Errorf("performed %v", w.performed)
				}
			})
		})
	}
}

// kept is a lease that nobody else wants, and that can be taken back.
type kept struct{ free }

func (k kept) Regain(context.Context) (lease.Lease, error) { return k, nil }
