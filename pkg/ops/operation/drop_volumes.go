package operation

import (
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// DropVolumes drops the volumes that other incarnations left, and with them the way back there. It touches nothing that
// the cluster runs on.
type DropVolumes struct{ rules.Plain }

// Traits implements rules.Operation.
func (DropVolumes) Traits() rules.Traits {
	return rules.Traits{Stopped: true, SparesMembers: true, DespiteDamage: true}
}

// Manners implements rules.Operation.
func (DropVolumes) Manners() ops.Manners { return ops.Manners{StepsBack: ops.Anytime} }

// Steps implements rules.Operation.
func (DropVolumes) Steps() rules.Steps { return rules.Steps{Alone: dropKept} }

// Undo implements rules.Operation.
func (DropVolumes) Undo(u *rules.Undoing) error {
	name := u.Of.Spec.Cluster
	return rules.NoUndo(name, "the volumes from before a restore were dropped",
		"what a backup holds comes back: kubectl dbop backup list "+name)
}

// dropKept drops all kept volumes at once.
func dropKept(p rules.Situation) *ops.Decision {
	names := KeptMembers(p.S)
	if len(names) == 0 || p.S.Cancelling() {
		return &ops.Decision{Done: true}
	}
	return rules.Do(ops.Step{ID: "delete-volumes/" + strings.Join(names, ","), Action: ops.ActionDeleteVolume,
		Members: names, Risk: ops.RiskIrreversible, Deadline: rules.WaitDeadline, Touches: rules.Claims(names),
		Title:  "Drop the volumes of " + strings.Join(names, ", "),
		Reason: "the cluster runs on other ones, and nobody goes back to these"})
}

// KeptMembers are the members whose volumes another incarnation left. A volume that something runs on is none of them,
// whatever it bears, and neither is one that names no incarnation.
func KeptMembers(s ops.State) []string {
	var out []string
	for _, m := range s.Kube.Members {
		other := m.Volume.Exists && m.Volume.Token != "" && m.Volume.Token != s.Bootstrap().Token
		if other && !m.Workload.Exists && !m.Pod.Exists {
			out = append(out, m.Name)
		}
	}
	return out
}
