package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// TestAClearingThatHaltsGivesWay to the operation that it asks for.
func TestAClearingThatHaltsGivesWay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		verb   v1alpha1.Verb
		phase  v1alpha1.Phase
		yields bool
	}{
		"halted":     {v1alpha1.VerbClearAlarms, v1alpha1.PhasePaused, true},
		"on its way": {v1alpha1.VerbClearAlarms, v1alpha1.PhaseRunning, false},
		"another":    {v1alpha1.VerbRestart, v1alpha1.PhasePaused, false},
	} {
		op := underWay(c.verb)
		op.Status.Phase = c.phase
		p := &planner.Prepared{Request: planner.Request{Operation: v1alpha1.OperationSpec{Cluster: "db",
			Verb: v1alpha1.VerbReplaceMember}}}
		if met := p.Meet(ops.Flight{Ordinary: op}) == nil; met != c.yields || (p.Supersedes == op) != c.yields {
			t.Errorf("%s: %t", name, met)
		}
		again := &planner.Prepared{Request: planner.Request{Operation: op.Spec}}
		if met := again.Meet(ops.Flight{Ordinary: op}) == nil; !met || (again.Supersedes == op) != c.yields ||
			(again.Continues == op) == c.yields {
			t.Errorf("%s, the same again: %t", name, met)
		}
	}
}

func TestReplacementTakesOver(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		state   func() ops.State
		member  string
		refused string
		version string
	}{
		{name: "on the way back", member: "db-3", version: "1.1.0",
			state: opstest.Upgrading(3, []string{"db-2"}, func(s *ops.State) {
				opstest.Without(s,
					"db-3")
				opstest.Cancelling(s)
			})},
		{name: "everybody else has moved", member: "db-3", version: "1.2.0",
			state: opstest.Upgrading(3, []string{"db-1", "db-2", "db-3"}, func(s *ops.State) { opstest.Without(s, "db-3") })},
		{name: "with everybody else on the newer series there is no way back", member: "db-3", refused: "continue it first",
			state: opstest.Upgrading(3, []string{"db-1", "db-2"},
				func(s *ops.State) { opstest.Without(s, "db-3"); opstest.Cancelling(s) })},
		{name: "not before it is stepped back from", member: "db-3", refused: "step back first",
			state: opstest.Upgrading(3, []string{"db-2"}, func(s *ops.State) { opstest.Without(s, "db-3") })},
		{name: "it goes on by itself", member: "db-4", refused: "continue it first",
			state: opstest.Upgrading(5, []string{"db-2"}, func(s *ops.State) {
				opstest.Without(s,
					"db-4")
				opstest.Cancelling(s)
			})},
		{name: "a member that is well", member: "db-1", refused: "continue it first",
			state: opstest.Upgrading(3, []string{"db-2"}, func(s *ops.State) {
				opstest.Without(s,
					"db-3")
				opstest.Cancelling(s)
			})},
		{name: "a clearing of alarms that halted", member: "db-3", version: "1.1.0",
			state: opstest.Upgrading(3, nil, func(s *ops.State) {
				opstest.Without(s, "db-3")
				s.Operation.Spec.Verb, s.Operation.Status.Phase, s.Cluster.Spec.Version = v1alpha1.VerbClearAlarms,
					v1alpha1.PhasePaused, "1.1.0"
			})},
		{name: "what does not restart members", member: "db-3", refused: "continue it: kubectl dbop resume",
			state: opstest.Upgrading(3, []string{"db-2"}, func(s *ops.State) {
				opstest.Without(s, "db-3")
				s.Operation.Spec.Verb = v1alpha1.VerbCompact
			})},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			onShelf(t, func(sh *shelf, r *Runner) {
				s := row.state()
				op := s.Operation
				op.ResourceVersion = "0"
				if op.Status.Phase == v1alpha1.PhaseRunning {
					op.Status.Phase = v1alpha1.PhasePaused
				}
				sh.cluster, sh.operations = s.Cluster.DeepCopy(), []*v1alpha1.Operation{op}
				sh.cluster.ResourceVersion = "0"
				r.Cluster = func(string, string) ops.ClosableCluster { return shelved{newIdeal(s), sh} }
				p, err := r.Prepare(context.Background(), "shop",
					planner.Request{Operation: v1alpha1.OperationSpec{Cluster: "db",
						Verb: v1alpha1.VerbReplaceMember, Member: row.member}})
				if row.refused != "" {
					e, ok := errors.AsType[*ops.Error](err)
					if !ok || e.Kind != ops.Busy || !strings.Contains(e.Hint, row.refused) {
						t.Errorf("got %+v", err)
					}
					return
				}
				if err != nil || p.Supersedes == nil || p.Plan.Blocked != nil || p.State.Cluster.Spec.Version != row.version {
					t.Fatalf("%v, %+v", err, p)
				}
				if steps := strings.Join(opstest.IDs(p.Plan), " "); !strings.HasPrefix(steps,
					"deregister-member/db-3 retire-member/db-3") || !strings.Contains(steps, "promote-member/db-3") {
					t.Errorf("the plan is %s", steps)
				}
			})
		})
	}
}

// TestInterrupted: a person who replaced a member in the middle of an upgrade is told
// how to ask for the upgrade again.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		verb, by v1alpha1.Verb
		phase    v1alpha1.Phase
		want     string
	}{
		{v1alpha1.VerbUpgrade, v1alpha1.VerbReplaceMember, v1alpha1.PhasePaused, "kubectl dbop again"},
		{v1alpha1.VerbUpgrade, v1alpha1.VerbReplaceMember, v1alpha1.PhaseCancelling, ""},
		{v1alpha1.VerbUpgrade, v1alpha1.VerbDelete, v1alpha1.PhasePaused, ""},
		{v1alpha1.VerbClearAlarms, v1alpha1.VerbReplaceMember, v1alpha1.PhasePaused, ""},
	} {
		old := opstest.Operation(c.verb)
		old.Status.Phase, old.Spec.Command = c.phase, "kubectl dbop again"
		p := &planner.Prepared{Request: planner.Request{Operation: v1alpha1.OperationSpec{Verb: c.by}}, Supersedes: old}
		if got := p.Interrupted(); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
	if got := (&planner.Prepared{}).Interrupted(); got != "" {
		t.Errorf("nothing was superseded: %q", got)
	}
}

// TestAuthorityRanOutInFlight: whatever is in flight gives way, but only then.
func TestAuthorityRanOutInFlight(t *testing.T) {
	t.Parallel()
	over, well := opstest.Expired(v1alpha1.RotateAtOnce), opstest.Rotation(v1alpha1.RotateAtOnce, 3)
	for _, c := range []struct {
		active   v1alpha1.Verb
		rotation v1alpha1.Rotation
		state    ops.State
		yields   bool
	}{
		{v1alpha1.VerbUpgrade, v1alpha1.RotateAtOnce, over, true},
		{v1alpha1.VerbUpgrade, v1alpha1.RotateAtOnce, well, false},
		{v1alpha1.VerbUpgrade, v1alpha1.RotateBegin, over, false},
		{v1alpha1.VerbRestore, v1alpha1.RotateAtOnce, over, false},
	} {
		p := &planner.Prepared{Request: planner.Request{Operation: v1alpha1.OperationSpec{Cluster: "db",
			Verb: v1alpha1.VerbRotateCertificates, CertificateParameters: v1alpha1.CertificateParameters{
				Rotation: c.rotation}}}, State: c.state}
		yields := p.Meet(ops.Flight{Ordinary: underWay(c.active)}) == nil &&
			new(Runner).mayGiveWay(p, c.state.Cluster) == nil
		if yields != c.yields {
			t.Errorf("%s meets %s: %t", c.rotation, c.active, yields)
		}
	}
}

// inJob is the record of a backup whose Job goes on without the command that started it.
func inJob(verb v1alpha1.Verb) *v1alpha1.Operation {
	op := opstest.Operation(verb)
	op.Name, op.ResourceVersion, op.Namespace = "db.op-0", "0", "shop"
	op.Spec.Repository, op.Spec.Backup = "offsite", "b1"
	op.Status.Phase = v1alpha1.PhaseRunning
	op.Status.Journal = []v1alpha1.JournalEntry{{Step: ops.BackupStepPrefix + "b1"}}
	return op
}

// TestSupersededBackupStopsFirst: its Job is gone before anything else of the cluster is touched, and before the record
// says that it ended.
func TestSupersededBackupStopsFirst(t *testing.T) {
	t.Parallel()
	other := planner.Request{Operation: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbBackup,
		Repository: "other", Backup: "b2"}}
	remove := planner.Request{Operation: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbDelete,
		Waive: []string{"backup"}}}
	for name, c := range map[string]struct {
		old   v1alpha1.Verb
		req   planner.Request
		stays int // for so many tries its pod is still there
		tries int
		fails bool
	}{
		"another backup":               {v1alpha1.VerbBackup, other, 2, 3, false},
		"what removes a member":        {v1alpha1.VerbBackup, scale(1), 1, 2, false},
		"a safety backup":              {v1alpha1.VerbUpgrade, scale(5), 0, 1, false},
		"a pod that does not go":       {v1alpha1.VerbBackup, other, 1 << 30, 0, true},
		"a deletion waits for no pod":  {v1alpha1.VerbBackup, remove, 1 << 30, 1, false},
		"what is as requested already": {v1alpha1.VerbBackup, scale(3), 0, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			onShelf(t, func(sh *shelf, r *Runner) {
				sh.operations = []*v1alpha1.Operation{inJob(c.old)}
				w := newIdeal(opstest.Well(3))
				w.perform = func(step ops.Step) error {
					if step.ID != "stop-backup/b1" {
						if sh.operations[0].Active() {
							t.Errorf("%s beside a record in flight", step.ID)
						}
						return nil
					}
					if !sh.operations[0].Active() {
						t.Error("the record ended before its Job")
					}
					if c.stays--; c.stays >= 0 {
						return fmt.Errorf("job b1 is stopping: %w", engine.ErrNotReady)
					}
					return nil
				}
				r.Cluster = func(string, string) ops.ClosableCluster { return shelved{w, sh} }
				_, err := r.Run(context.Background(), "shop", c.req)
				tries := 0
				for tries < len(w.performed) && w.performed[tries] == "stop-backup/b1" {
					tries++
				}
				if (err != nil) != c.fails || c.tries > 0 && tries != c.tries || sh.operations[0].Active() != c.fails {
					t.Errorf("%v, %v: %s", err, w.performed, sh.operations[0].Status.Phase)
				}
				if ops.KindOf(err) == ops.Unchanged && len(w.performed) > 0 {
					t.Errorf("performed %v", w.performed)
				}
			})
		})
	}
}

// TestPlanShowsTheBackupThatStops, so that nobody learns of it afterwards.
func TestPlanShowsTheBackupThatStops(t *testing.T) {
	t.Parallel()
	onShelf(t, func(sh *shelf, r *Runner) {
		sh.operations = []*v1alpha1.Operation{inJob(v1alpha1.VerbBackup)}
		p, err := r.Prepare(context.Background(), "shop", scale(1))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff("Stop the job that takes the backup b1 to offsite", p.Plan.Steps[0].Title); diff != "" {
			t.Error(diff)
		}
		if !sh.operations[0].Active() {
			t.Error("a plan ended the record")
		}
	})
}
