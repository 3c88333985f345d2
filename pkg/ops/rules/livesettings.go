package rules

import (
	"fmt"
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

// Rolled reports whether this operation restarted a member for the settings that it wants now: once is enough, once
// more after the leader changed, which may have brought what the member was waiting for, and once more on the way back.
// A restart that was written down only, by a process that was killed then, does not count: the pod is older than that.
func (p Situation) Rolled(name string) bool {
	times, again := 0, false
	for _, e := range p.S.Operation.Status.Journal {
		switch {
		case e.Step == string(ops.ActionRoll)+"/"+name && !p.S.Kube.Member(name).Pod.Created.Before(e.StartedAt.Time):
			times++
		case strings.HasPrefix(e.Step, string(ops.ActionHandOver)+"/") && times == 1 && !again:
			times, again = 0, true
		}
	}
	return times > 1 || times == 1 && !p.S.Cancelling()
}

// AwaitLeader waits for members that take a setting only once the leader has it. nil if the leader itself needs a
// restart, or nobody waits.
func (p Situation) AwaitLeader() *ops.Decision {
	if leader, ok := p.S.View.Leader(); !ok || len(leader.Pending) > 0 {
		return nil
	}
	for _, name := range p.VoterNames() {
		if held := p.S.View.Member(name).Held; len(held) > 0 {
			return p.Await("settings", fmt.Sprintf("%s has not read yet that the leader has other values of %s", name,
				strings.Join(held, ", ")), name)
		}
	}
	return nil
}

// Pending reports whether a member takes a setting only at its next start.
func (p Situation) Pending(name string) bool { return len(p.S.View.Member(name).Pending) > 0 }
