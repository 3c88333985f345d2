package runner

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

func TestRunnerRuns(t *testing.T) {
	t.Parallel()
	onShelf(t, func(sh *shelf, r *Runner) {
		op, err := r.Run(context.Background(), "shop", scale(5))
		if err != nil || op.Status.Phase != v1alpha1.PhaseSucceeded || sh.cluster.Spec.Members != 5 ||
			op.Spec.FromMembers != 3 {
			t.Errorf("%v, %+v", err, op)
		}
		writes := sh.version
		if _, err := r.Run(context.Background(), "shop", scale(5)); ops.KindOf(err) != ops.Unchanged {
			t.Errorf("asked again: %v", err)
		}
		if sh.version != writes {
			t.Errorf("idle, and %d records were written", sh.version-writes)
		}
		sh.cluster.Spec.Members = 3
		if _, err := r.Run(context.Background(), "shop", scale(5)); ops.KindOf(err) != ops.Unchanged ||
			sh.cluster.Spec.Members != 5 {
			t.Errorf("what no member lacks is not wanted from then on: %v, %d members", err, sh.cluster.Spec.Members)
		}
	})
}

func TestRunnerRefuses(t *testing.T) {
	t.Parallel()
	remove := func(name string) planner.Request {
		return planner.Request{Operation: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbRemoveMember,
			Member: name}}
	}
	for _, row := range []struct {
		name    string
		request planner.Request
		prepare func(*shelf, *Runner)
		kind    ops.Kind
		check   string
	}{
		{"even",
			planner.Request{Operation: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbScale,
				SizeParameters: v1alpha1.SizeParameters{Members: 4}}}, nil,
			ops.Refused, "size"},
		{"none", scale(0), nil, ops.Refused, "size"},
		{"too many", scale(9), nil, ops.Refused, "size"},
		{"unknown member", remove("db-9"), nil, ops.Refused, "unknown-member"},
		{"last member", remove("db-1"), func(sh *shelf, _ *Runner) { sh.cluster.Spec.Members = 1 }, ops.Refused,
			"last-member"},
		{"not formed", scale(5), func(sh *shelf, _ *Runner) { sh.cluster.Status.Bootstrap.ClusterID = "" }, ops.Refused,
			"not-formed"},
		{"too far, after something that could be done", planner.Request{Operation: v1alpha1.OperationSpec{Cluster: "db",
			Verb: v1alpha1.VerbUpgrade, VersionParameters: v1alpha1.VersionParameters{Version: "9.9.9"}}},
			func(_ *shelf, r *Runner) {
				s := opstest.Well(3)
				s.Kube.Members[0].Workload.Bootstrap = true
				r.Cluster = func(string, string) ops.ClosableCluster { return shelved{newIdeal(s), &shelf{cluster: s.Cluster}} }
			}, ops.Refused, "may-upgrade"},
		{"not there", scale(5), func(sh *shelf, _ *Runner) { sh.cluster = nil }, ops.Failed, "not-found"},
		{"somebody else's operation", scale(5), func(sh *shelf,
			_ *Runner) {
			sh.operations = append(sh.operations, underWay(v1alpha1.VerbUpgrade))
		}, ops.Busy, "operation"},
		{"somebody holds it", scale(5), func(_ *shelf, r *Runner) {
			r.Lock = func(context.Context, string, string, lease.Scope, func(string, time.Duration)) (lease.Lease, error) {
				return nil, &lease.HeldError{Cluster: "db", Holder: "eve@far"}
			}
		}, ops.Busy, "lease"},
		{"created with authentication, and it is there without",
			planner.Request{Operation: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbCreate},
				Cluster: func() *v1alpha1.DatabaseCluster {
					c := opstest.Wanted(3).Cluster
					c.Spec.Auth.Enabled = true
					return c
				}()}, nil, ops.Refused, "exists"},
		{"a repository of another kind", planner.Request{Operation: v1alpha1.OperationSpec{Cluster: "db",
			Verb: v1alpha1.VerbCreate}, Cluster: func() *v1alpha1.DatabaseCluster {
			c := opstest.Wanted(3).Cluster
			c.Spec.Backup.Repository = "s3://x"
			return c
		}()}, func(sh *shelf, _ *Runner) { sh.cluster = nil }, ops.Refused, "repository"},
		{"name taken", planner.Request{Operation: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbCreate},
			Cluster: opstest.Wanted(5).Cluster}, nil, ops.Refused, "exists"},
	} {
		t.Run(row.name, func(t *testing.T) {
			onShelf(t, func(sh *shelf, r *Runner) {
				if row.prepare != nil {
					row.prepare(sh, r)
				}
				_, err := r.Run(context.Background(), "shop", row.request)
				var typed *ops.Error
				if !errors.As(err, &typed) || typed.Kind != row.kind || typed.Check != row.check {
					t.Errorf("got %#v, want %s %s", err, row.kind, row.check)
				}
				if sh.version != 0 {
					t.Errorf("refused, and %d records were written", sh.version)
				}
			})
		})
	}
}

// TestRunnerIsKilledAnywhere lets the process die at each of its writes; the
// same request must finish the job, under one record.
func TestRunnerIsKilledAnywhere(t *testing.T) {
	t.Parallel()
	for _, request := range []func() planner.Request{
		func() planner.Request { return scale(5) },
		func() planner.Request {
			return planner.Request{Operation: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbUpgrade,
				VersionParameters: v1alpha1.VersionParameters{Version: "1.2.0"},
				Backup:            "b2", Repository: "dir:/backups"}}
		},
		func() planner.Request {
			return planner.Request{Operation: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbDelete, Backup: "b3",
				Repository: "dir:/backups"}}
		},
	} {
		verb := request().Operation.Verb
		for fuse := range 12 {
			t.Run(fmt.Sprintf("%s at write %d", verb, fuse), func(t *testing.T) {
				onShelf(t, func(sh *shelf, r *Runner) {
					sh.fuse = fuse
					r.FailPoint = nil
					_, first := r.Run(context.Background(), "shop", request())
					sh.fuse = 1 << 30
					for i := range sh.operations { // a killed process pauses nothing
						if sh.operations[i].Active() {
							sh.operations[i].Status.Phase = v1alpha1.PhaseRunning
						}
					}
					_, err := r.Run(context.Background(), "shop", request())
					done := first == nil || ops.KindOf(err) == ops.Unchanged || (verb == v1alpha1.VerbDelete && sh.cluster == nil)
					if err != nil && !done {
						t.Fatalf("first %v, then %v", first, err)
					}
					if n := len(sh.operations); n != 1 && first != nil {
						t.Errorf("%d records", n)
					}
					if active := sh.first(); active != nil {
						t.Errorf("still in flight: %+v", active.Status)
					}
				})
			})
		}
	}
}

func TestRunnerDeletionSupersedes(t *testing.T) {
	t.Parallel()
	onShelf(t, func(sh *shelf, r *Runner) {
		old := opstest.Operation(v1alpha1.VerbDelete)
		old.Status.Facts = map[string]string{v1alpha1.FactBackup: "b1"}
		sh.operations = append(sh.operations, old)
		op, err := r.Run(context.Background(), "shop", planner.Request{Operation: v1alpha1.OperationSpec{Cluster: "db",
			Verb: v1alpha1.VerbDelete, DeleteParameters: v1alpha1.DeleteParameters{Purge: true}, Backup: "b9"}})
		if err != nil || sh.operations[0].Status.Phase != v1alpha1.PhaseCancelled ||
			op.Status.Phase != v1alpha1.PhaseSucceeded {
			t.Errorf("%v; old %s, new %+v", err, sh.operations[0].Status.Phase, op)
		}
		if op.Status.Facts[v1alpha1.FactBackup] != "b1" || op.Spec.Backup != "b1" {
			t.Errorf("the last backup was not taken over: %+v", op)
		}
	})
}

func TestRunnerResumesAndCancels(t *testing.T) {
	t.Parallel()
	onShelf(t, func(sh *shelf, r *Runner) {
		if _, err := r.Resume(context.Background(), "shop", "db", false); ops.KindOf(err) != ops.Unchanged {
			t.Errorf("nothing in flight: %v", err)
		}
		op := opstest.Operation(v1alpha1.VerbScale)
		op.Spec.Members, op.Spec.FromMembers, op.Status.Phase = 5, 3, v1alpha1.PhasePaused
		sh.operations = append(sh.operations, op)
		sh.cluster.Spec.Members = 5
		got, err := r.Resume(context.Background(), "shop", "db", true)
		if err != nil || got.Status.Phase != v1alpha1.PhaseCancelled || sh.cluster.Spec.Members != 3 {
			t.Errorf("%v, %+v, %d members", err, got, sh.cluster.Spec.Members)
		}
		sh.operations = append(sh.operations, opstest.Operation(v1alpha1.VerbDelete))
		if _, err := r.Resume(context.Background(), "shop", "db", true); ops.KindOf(err) != ops.Refused {
			t.Errorf("a deletion has no way back: %v", err)
		}
	})
}

// TestPrepareResume sees the whole way: a preview of cancel wants what was
// wanted before, although nothing is written down yet.
func TestPrepareResume(t *testing.T) {
	t.Parallel()
	onShelf(t, func(sh *shelf, r *Runner) {
		ctx := context.Background()
		if _, err := r.PrepareResume(ctx, "shop", "db", true); ops.KindOf(err) != ops.Unchanged {
			t.Errorf("nothing in flight: %v", err)
		}
		stop := make(chan struct{})
		r.Stop = stop
		r.FailPoint = func(when string, _ ops.Step) {
			if when == "after" {
				close(stop)
			}
		}
		change := &v1alpha1.SettingsChange{Set: map[string]string{"speed": "high"}}
		if _, err := r.Run(ctx, "shop", planner.Request{Operation: v1alpha1.OperationSpec{Cluster: "db",
			Verb: v1alpha1.VerbConfigure, SettingsParameters: v1alpha1.SettingsParameters{
				Change: change}}}); ops.KindOf(err) != ops.Interrupted {
			t.Fatal(err)
		}
		r.Stop, r.FailPoint = nil, nil
		sh.cluster.Spec.Paused = true
		writes := sh.version
		for _, row := range []struct {
			cancel bool
			want   []string
		}{
			{cancel: false, want: []string{"roll-member/db-3", "hand-over/db-2", "roll-member/db-1"}},
			{cancel: true, want: []string{"roll-member/db-2"}},
		} {
			p, err := r.PrepareResume(ctx, "shop", "db", row.cancel)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, opstest.IDs(p.Plan)); diff != "" || p.Plan.Blocked != nil {
				t.Errorf("cancel %v: %s %+v", row.cancel, diff, p.Plan.Blocked)
			}
		}
		if sh.version != writes {
			t.Error("a preview wrote")
		}
		sh.operations[0].Spec.Verb = v1alpha1.VerbDelete
		if _, err := r.PrepareResume(ctx, "shop", "db", true); ops.KindOf(err) != ops.Refused {
			t.Errorf("a deletion has no way back: %v", err)
		}
	})
}
