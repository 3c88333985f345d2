package runner

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// underWay is an operation that has started its first step.
func underWay(verb v1alpha1.Verb) *v1alpha1.Operation {
	op := opstest.Operation(verb)
	op.Status.Journal = []v1alpha1.JournalEntry{{Step: "first"}}
	return op
}

func TestUntouched(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		journal []v1alpha1.JournalEntry
		facts   map[string]string
		want    bool
	}{
		"no step":              {nil, nil, true},
		"a step":               {[]v1alpha1.JournalEntry{{Step: "set-budget"}}, nil, false},
		"a backup that failed": {[]v1alpha1.JournalEntry{{Step: "backup/b1", Error: "full"}}, nil, true},
		"a backup, taken": {[]v1alpha1.JournalEntry{{Step: "backup/b1"}}, map[string]string{v1alpha1.FactBackup: "b1"},
			false},
		"another's backup":  {[]v1alpha1.JournalEntry{{Step: "backup/b2"}}, nil, false},
		"a backup and more": {[]v1alpha1.JournalEntry{{Step: "backup/b1"}, {Step: "stop-members"}}, nil, false},
	} {
		op := opstest.Operation(v1alpha1.VerbUpgrade)
		op.Spec.Backup, op.Status.Journal, op.Status.Facts = "b1", c.journal, c.facts
		if got := ops.Untouched(op); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestJobStarted: only a Job in an object store goes on without the process that started it.
func TestJobStarted(t *testing.T) {
	t.Parallel()
	started := []v1alpha1.JournalEntry{{Step: "backup/b1"}}
	for name, c := range map[string]struct {
		repository string
		journal    []v1alpha1.JournalEntry
		facts      map[string]string
		want       bool
	}{
		"in a store":        {"offsite", started, nil, true},
		"in a claim":        {"pvc:backups", started, nil, false},
		"in a directory":    {"dir:/b", started, nil, false},
		"not yet":           {"offsite", nil, nil, false},
		"taken":             {"offsite", started, map[string]string{v1alpha1.FactBackup: "b1"}, false},
		"another's backup":  {"offsite", []v1alpha1.JournalEntry{{Step: "backup/b2"}}, nil, false},
		"nowhere to put it": {"", started, nil, false},
	} {
		op := opstest.Operation(v1alpha1.VerbBackup)
		op.Spec.Repository, op.Spec.Backup, op.Status.Journal, op.Status.Facts = c.repository, "b1", c.journal, c.facts
		if got := ops.JobStarted(op); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// upgradeWithBackup begins with a safety backup.
func upgradeWithBackup() planner.Request {
	return planner.Request{Operation: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbUpgrade,
		VersionParameters: v1alpha1.VersionParameters{Version: "1.2.0"},
		Repository:        "dir:/b", Backup: "b1"}}
}

// drivers run a request as the command line does and as an operator does.
func drivers() map[string]func(*Runner, planner.Request) error {
	return map[string]func(*Runner, planner.Request) error{
		"command line": func(r *Runner, req planner.Request) error {
			_, err := r.Run(context.Background(), "shop", req)
			return err
		},
		"operator": func(r *Runner, req planner.Request) error {
			s, err := r.Open(context.Background(), "shop", "db", &req, nil)
			if err != nil {
				return err
			}
			for {
				done, again, err := s.Next(context.Background())
				if done || err != nil {
					return errors.Join(err, s.Close(context.Background()))
				}
				time.Sleep(again)
			}
		},
	}
}

// TestNothingDoneBlocksNothing: an operation that fails before it had an effect
// ends, takes back what it wanted, and leaves the way free; one that had an
// effect pauses.
func TestNothingDoneBlocksNothing(t *testing.T) {
	t.Parallel()
	for name, run := range drivers() {
		for _, c := range []struct {
			by, fails string
			phase     v1alpha1.Phase
			version   string
		}{
			{"amy", "backup/b1", v1alpha1.PhaseFailed, "1.1.0"},
			{"amy", "upgrade-member/", v1alpha1.PhasePaused, "1.2.0"},
			{planner.DesiredBy, "backup/b1", v1alpha1.PhasePaused, "1.2.0"},
		} {
			t.Run(name+", "+c.by+", "+c.fails, func(t *testing.T) {
				onShelf(t, func(sh *shelf, r *Runner) {
					w := newIdeal(opstest.Well(3))
					w.perform = func(s ops.Step) error {
						if strings.HasPrefix(s.ID, c.fails) {
							return &ops.Error{Kind: ops.NeedsHuman, Message: "the disk is full"}
						}
						return nil
					}
					r.Cluster = func(string, string) ops.ClosableCluster { return shelved{w, sh} }
					req := upgradeWithBackup()
					req.Operation.RequestedBy = c.by
					err := run(r, req)
					op := sh.operations[0]
					if err == nil || op.Status.Phase != c.phase || sh.cluster.Spec.Version != c.version ||
						!strings.Contains(op.Status.Message, "the disk is full") {
						t.Errorf("%v: %s, wants %s: %s", err, op.Status.Phase, sh.cluster.Spec.Version, op.Status.Message)
					}
					if (op.Status.FinishedAt != nil) != (c.phase == v1alpha1.PhaseFailed) {
						t.Errorf("finished at %v", op.Status.FinishedAt)
					}
					w.perform = nil
					if err := run(r, scale(5)); (err == nil) != (c.fails == "backup/b1") {
						t.Errorf("the next command: %v", err)
					}
				})
			})
		}
	}
}

// TestDyingBeforeTheFirstStep: whatever the process wrote before it died, the
// same command continues it under one record, and another one takes over and
// finds the cluster as it was.
func TestDyingBeforeTheFirstStep(t *testing.T) {
	t.Parallel()
	for name, run := range drivers() {
		t.Run(name, func(t *testing.T) {
			// The third write is the first journal entry, which names a step that may have been taken.
			for fuse := range 3 {
				onShelf(t, func(sh *shelf, r *Runner) {
					sh.fuse = fuse
					_ = run(r, scale(5))
					sh.fuse = 1 << 30
					if err := run(r, scale(5)); err != nil || len(sh.operations) != 1 || sh.cluster.Spec.Members != 5 {
						t.Errorf("after %d writes, the same again: %v, %d records, %d members", fuse, err, len(sh.operations),
							sh.cluster.Spec.Members)
					}
				})
				for _, next := range []planner.Request{scale(3), {Operation: v1alpha1.OperationSpec{Cluster: "db",
					Verb: v1alpha1.VerbStop}}} {
					onShelf(t, func(sh *shelf, r *Runner) {
						sh.fuse = fuse
						_ = run(r, scale(5))
						sh.fuse = 1 << 30
						err := run(r, next)
						if ops.KindOf(err) == ops.Unchanged {
							err = nil
						}
						if err != nil || sh.cluster.Spec.Members != 3 {
							t.Errorf("after %d writes, %s: %v, wants %d members", fuse, next.Operation.Verb, err,
								sh.cluster.Spec.Members)
						}
						if phases := phasesOf(sh); slices.Contains(phases, v1alpha1.PhaseRunning) ||
							slices.Contains(phases, v1alpha1.PhasePaused) {
							t.Errorf("after %d writes, %s: %v", fuse, next.Operation.Verb, phases)
						}
					})
				}
			}
		})
	}
}

func phasesOf(sh *shelf) []v1alpha1.Phase {
	var out []v1alpha1.Phase
	for _, o := range sh.operations {
		out = append(out, o.Status.Phase)
	}
	return out
}

// rehearsed is a world that judges steps beforehand.
type rehearsed struct {
	shelved

	err error
}

func (r rehearsed) Rehearse(context.Context, ops.State, ops.Step) error { return r.err }

// TestRefusedRehearsalLeavesNoRecord, nor another default of the cluster.
func TestRefusedRehearsalLeavesNoRecord(t *testing.T) {
	t.Parallel()
	for name, run := range drivers() {
		t.Run(name, func(t *testing.T) {
			onShelf(t, func(sh *shelf, r *Runner) {
				w := newIdeal(opstest.Well(3))
				w.state.Kube.Schedule = &workload.Schedule{Missing: []string{"CronJob"}}
				r.Cluster = func(string, string) ops.ClosableCluster {
					return rehearsed{shelved{w, sh}, &ops.Error{Kind: ops.Refused, Check: "claim"}}
				}
				before := sh.cluster.Spec.Backup
				req := planner.Request{Operation: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbSchedule,
					ScheduleParameters: v1alpha1.ScheduleParameters{Policy: &v1alpha1.BackupPolicy{Repository: "pvc:nope",
						Schedule: "0 2 * * *"}}}}
				if err := run(r, req); ops.KindOf(err) != ops.Refused || sh.version != 0 || sh.cluster.Spec.Backup != before {
					t.Errorf("%v, %d writes, %+v", err, sh.version, sh.cluster.Spec.Backup)
				}
			})
		})
	}
}

// judged is a world that has the user who is to be made.
type judged struct {
	shelved

	has bool
}

func (j judged) HasUser(_ context.Context, s ops.State) bool {
	return j.has && s.Operation.Spec.FromUser && s.Operation.Spec.User.Name == "app"
}

// TestUserThatIsThere: to make a user again of whom nothing is missing is asked of nobody, and leaves no record.
func TestUserThatIsThere(t *testing.T) {
	t.Parallel()
	for _, has := range []bool{true, false} {
		onShelf(t, func(sh *shelf, r *Runner) {
			app := v1alpha1.DatabaseUser{Name: "app"}
			sh.cluster.Spec.Auth.Users = []v1alpha1.DatabaseUser{app}
			w := newIdeal(opstest.Well(3))
			r.Cluster = func(string, string) ops.ClosableCluster { return judged{shelved{w, sh}, has} }
			p, err := r.Prepare(t.Context(), "shop", planner.Request{Operation: v1alpha1.OperationSpec{Cluster: "db",
				Verb: v1alpha1.VerbCreateUser, UserParameters: v1alpha1.UserParameters{User: &app}}})
			if err != nil || p.Plan.Unchanged() != has {
				t.Errorf("it is there %t: %v, %+v", has, err, p.Plan.Steps)
			}
		})
	}
}

// TestRevertIsExact: an operation that asks for what was there already takes
// nothing away when it ends.
func TestRevertIsExact(t *testing.T) {
	t.Parallel()
	app := v1alpha1.DatabaseUser{Name: "app"}
	c := opstest.Well(3).Cluster
	c.Spec.Auth = v1alpha1.Auth{Enabled: true, Users: []v1alpha1.DatabaseUser{app}}
	for _, verb := range []v1alpha1.Verb{v1alpha1.VerbStart, v1alpha1.VerbStop, v1alpha1.VerbEnableAuth,
		v1alpha1.VerbDisableAuth, v1alpha1.VerbCreateUser, v1alpha1.VerbDeleteUser} {
		op := opstest.Operation(verb)
		op.Spec.User = &app
		planner.Default(&op.Spec, c)
		changed := c.DeepCopy()
		planner.ApplyTo(changed, op)
		revert(changed, op)
		if diff := cmp.Diff(c.Spec, changed.Spec); diff != "" {
			t.Errorf("%s (-before +after):\n%s", verb, diff)
		}
	}
}
