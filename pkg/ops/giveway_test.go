package ops

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// without takes a member's volume away.
func (s *State) without(member string) {
	s.down(member, kube.ProblemVolume, time.Minute)
	s.Kube.Members[s.memberIndex(member)].Volume = kube.Volume{}
}

// TestWayBackWithoutALostMember: another may restart as long as a majority
// stays, and who is lost has to be replaced first where none would.
func TestWayBackWithoutALostMember(t *testing.T) {
	t.Parallel()
	ask(t, stub{}, []question{
		{"on the way there it is paused", upgrading(5, []string{"db-2", "db-4"}, func(s *State) { s.without("db-4") }), "blocked NeedsHuman lost"},
		{"a majority stays", upgrading(5, []string{"db-2"}, func(s *State) { s.without("db-4"); cancelling(s) }), "upgrade-member/db-2"},
		{"none would", upgrading(3, []string{"db-2"}, func(s *State) { s.without("db-3"); cancelling(s) }), "blocked NeedsHuman lost"},
		{"who has moved was lost", upgrading(3, []string{"db-2"}, func(s *State) { s.without("db-2"); cancelling(s) }), "upgrade-member/db-2"},
		{"nobody has moved", upgrading(3, nil, func(s *State) { s.without("db-3"); cancelling(s) }), "done"},
		{"all are back", upgrading(5, nil, func(s *State) { s.down("db-4", kube.ProblemNode, time.Hour); cancelling(s) }), "done"},
		{"one that has just begun to crash is waited for", upgrading(5, []string{"db-2"}, func(s *State) { s.down("db-4", kube.ProblemCrashing, time.Second); cancelling(s) }), "wait/healthy"},
	})
}

func TestReplacementTakesOver(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		state   func() State
		member  string
		refused string
		version string
	}{
		{name: "on the way back", member: "db-3", version: "1.1.0", state: upgrading(3, []string{"db-2"}, func(s *State) { s.without("db-3"); cancelling(s) })},
		{name: "everybody else has moved", member: "db-3", version: "1.2.0", state: upgrading(3, []string{"db-1", "db-2", "db-3"}, func(s *State) { s.without("db-3") })},
		{name: "with everybody else on the newer series there is no way back", member: "db-3", refused: "continue it first", state: upgrading(3, []string{"db-1", "db-2"}, func(s *State) { s.without("db-3"); cancelling(s) })},
		{name: "not before it is stepped back from", member: "db-3", refused: "step back first", state: upgrading(3, []string{"db-2"}, func(s *State) { s.without("db-3") })},
		{name: "it goes on by itself", member: "db-4", refused: "continue it first", state: upgrading(5, []string{"db-2"}, func(s *State) { s.without("db-4"); cancelling(s) })},
		{name: "a member that is well", member: "db-1", refused: "continue it first", state: upgrading(3, []string{"db-2"}, func(s *State) { s.without("db-3"); cancelling(s) })},
		{name: "a clearing of alarms that halted", member: "db-3", version: "1.1.0", state: upgrading(3, nil, func(s *State) {
			s.without("db-3")
			s.Operation.Spec.Verb, s.Operation.Status.Phase, s.Cluster.Spec.Version = v1alpha1.VerbClearAlarms, v1alpha1.PhasePaused, "1.1.0"
		})},
		{name: "what does not restart members", member: "db-3", refused: "continue it: kubectl dbop resume", state: upgrading(3, []string{"db-2"}, func(s *State) {
			s.without("db-3")
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
				r.World = func(string, string) ClosableWorld { return shelved{newIdeal(s), sh} }
				p, err := r.Prepare(context.Background(), "shop", Request{Operation: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbReplaceMember, Member: row.member}})
				if row.refused != "" {
					e, ok := errors.AsType[*Error](err)
					if !ok || e.Kind != Busy || !strings.Contains(e.Hint, row.refused) {
						t.Errorf("got %+v", err)
					}
					return
				}
				if err != nil || p.Supersedes == nil || p.Plan.Blocked != nil || p.State.Cluster.Spec.Version != row.version {
					t.Fatalf("%v, %+v", err, p)
				}
				if steps := strings.Join(ids(p.Plan), " "); !strings.HasPrefix(steps, "deregister-member/db-3 retire-member/db-3") || !strings.Contains(steps, "promote-member/db-3") {
					t.Errorf("the plan is %s", steps)
				}
			})
		})
	}
}

// TestInterrupted: whoever replaced a member in the middle of an upgrade is told
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
		old := operation(c.verb)
		old.Status.Phase, old.Spec.Command = c.phase, "kubectl dbop again"
		p := &Prepared{Request: Request{Operation: v1alpha1.OperationSpec{Verb: c.by}}, Supersedes: old}
		if got := p.Interrupted(); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
	if got := (&Prepared{}).Interrupted(); got != "" {
		t.Errorf("nothing was superseded: %q", got)
	}
}
