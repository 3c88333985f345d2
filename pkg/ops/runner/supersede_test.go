package runner

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
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
		if met := p.Meet(op); met != c.yields || (p.Supersedes == op) != c.yields {
			t.Errorf("%s: %t", name, met)
		}
		again := &planner.Prepared{Request: planner.Request{Operation: op.Spec}}
		if met := again.Meet(op); !met || (again.Supersedes == op) != c.yields || (again.Continues == op) == c.yields {
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
		if yields := p.Meet(underWay(c.active)) && new(Runner).mayGiveWay(p, c.state.Cluster) == nil; yields != c.yields {
			t.Errorf("%s meets %s: %t", c.rotation, c.active, yields)
		}
	}
}
