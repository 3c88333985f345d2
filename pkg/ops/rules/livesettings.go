package rules

import (
	"maps"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// ChangeSettings has members agree on the wanted settings, where the engine's members do. nil if they have.
func (p Situation) ChangeSettings() *ops.Decision {
	live, ok := p.E.(engine.LiveSettings)
	if !ok || !p.S.View.Quorum || p.S.View.Settings == nil {
		return nil
	}
	want, err := live.LiveOptions(p.S.Cluster.Spec)
	if err != nil {
		return Block(ops.Refusal(err))
	}
	changed := ChangedOptions(p.S.View.Settings, want)
	if len(changed) == 0 {
		return nil
	}
	return Do(ops.Step{ID: string(ops.ActionConfigure), Action: ops.ActionConfigure, Risk: ops.RiskNone,
		Deadline: StepDeadline, Title: "Change the settings " + strings.Join(changed, ", "),
		Reason: "members take them while they run; who needs a restart for one is restarted after this"})
}

// ChangedOptions are the names whose values differ.
func ChangedOptions(have, want map[string]string) []string {
	names := map[string]bool{}
	for _, m := range []map[string]string{have, want} {
		for name := range m {
			has, in := have[name]
			wants, out := want[name]
			if in != out || has != wants {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Rolled reports whether this operation restarted a member for the settings that it wants now: once is enough, and on
// the way back once more.
func (p Situation) Rolled(name string) bool {
	enough := 1
	if p.S.Cancelling() {
		enough = 2
	}
	for _, e := range p.S.Operation.Status.Journal {
		if e.Step == string(ops.ActionRoll)+"/"+name {
			enough--
		}
	}
	return enough <= 0
}

// Pending reports whether a member takes a setting only at its next start.
func (p Situation) Pending(name string) bool { return len(p.S.View.Member(name).Pending) > 0 }
