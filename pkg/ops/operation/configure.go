package operation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// Configure changes options and resources, and restarts the members for it.
type Configure struct{ rules.Plain }

// Traits implements rules.Operation.
func (Configure) Traits() rules.Traits {
	return rules.Traits{Restarts: true, NewSettings: true, Outdated: unsettled}
}

// Manners implements rules.Operation.
func (Configure) Manners() ops.Manners {
	return ops.Manners{
		StepsBack: ops.Anytime, Rolls: true,
		Same: func(have, asked v1alpha1.OperationSpec) bool {
			return equality.Semantic.DeepEqual(have.Change, asked.Change)
		},
	}
}

// Default implements rules.Operation.
func (Configure) Default(o *v1alpha1.OperationSpec, c *v1alpha1.DatabaseCluster) {
	o.FromSettings = v1alpha1.SettingsOf(&c.Spec)
	if o.Change != nil && o.Change.HelperImage != nil {
		o.FromSettings.HelperImage = new(c.Spec.HelperImage)
	}
	o.Settings = o.FromSettings.With(o.Change)
}

// Check implements rules.Operation.
func (Configure) Check(e engine.Engine, o v1alpha1.OperationSpec, c, _ *v1alpha1.DatabaseCluster) error {
	return checkSettings(e, o, c)
}

// ApplyTo implements rules.Operation.
func (Configure) ApplyTo(spec *v1alpha1.DatabaseClusterSpec, o v1alpha1.OperationSpec, back bool) {
	settings := o.Settings
	if back {
		settings = o.FromSettings
	}
	settings.Apply(spec)
}

// Steps implements rules.Operation.
func (Configure) Steps() rules.Steps {
	return rules.Steps{Alone: renameImage, Running: redirectOrMend, Joined: func(p rules.Situation) *ops.Decision {
		if d := p.TakeHelperImage(); d != nil {
			return d
		}
		if d := p.ChangeSettings(); d != nil {
			return d
		}
		if d := p.RouteFirst(); d != nil {
			return d
		}
		if d := roll(p); d != nil {
			return d
		}
		return p.RouteLast()
	}}
}

// redirectOrMend sends clients elsewhere before anything else: that needs no member.
func redirectOrMend(p rules.Situation) *ops.Decision {
	if d := p.Redirect(); d != nil {
		return d
	}
	return mend(p)
}

// renameImage is all of a change of the image of this tool where members have no agents. It waits for no member:
// without that image, none may be brought back.
func renameImage(p rules.Situation) *ops.Decision {
	if !p.OnlyImage() || p.E.Capabilities().Agent {
		return nil
	}
	if d := p.TakeHelperImage(); d != nil {
		return d
	}
	if d := p.Scheduling(); d != nil {
		return d
	}
	return &ops.Decision{Done: true}
}

// mend gives members that can't start the wanted settings while there is no quorum.
func mend(p rules.Situation) *ops.Decision {
	if p.S.View.Quorum {
		return nil
	}
	return p.MendSettings()
}

// Undo asks for the former value of what was changed. Volumes never shrink.
func (Configure) Undo(u *rules.Undoing) error {
	of, o := u.Of.Spec, &u.Operation
	if of.FromSettings == nil || of.Change == nil || of.Settings == nil {
		return u.Unrecorded("which settings there were")
	}
	o.Verb, o.Waive, o.Change = of.Verb, []string{"size"}, formerSettings(of.FromSettings, of.Change)
	size := of.Settings.Size.String()
	if of.Settings.Size.Cmp(of.FromSettings.Size) > 0 {
		u.Stays = []string{fmt.Sprintf("the size of the volumes, %s: Kubernetes can't make one smaller", size)}
	}
	if c := o.Change; len(c.Set) == 0 && len(c.Unset) == 0 && len(c.Requests) == 0 && len(c.Limits) == 0 &&
		c.Routing == "" && c.HelperImage == nil && c.RedirectTo == nil {
		return rules.NoUndo(of.Cluster, fmt.Sprintf("volumes of %s have %s now, and Kubernetes can't make one smaller",
			of.Cluster, size),
			"a restore into a new cluster can have smaller ones: kubectl dbop backup, then kubectl dbop restore NAME --from "+
				"BACKUP --storage "+
				of.FromSettings.Size.String())
	}
	u.Title = "go back to the settings from before " + string(of.Verb)
	return nil
}

// roll brings every voter to the wanted settings, one by one, and goes back
// the same way: cancel wants the former settings, and moves those that this
// operation has moved. nil once all have them; whether all are well is asked
// by the family healthy, and on the way back here.
func roll(p rules.Situation) *ops.Decision {
	outdated := unsettled(p)
	if len(outdated) == 0 {
		if d := p.AwaitLeader(); d != nil {
			return d
		}
		return movedBack(p)
	}
	if !p.Began(ops.ActionRoll) {
		if d := p.MayRestart(); d != nil {
			return d
		}
		if d := oneVersion(p); d != nil {
			return d
		}
		if err := p.E.CheckSettings(p.S.View, p.S.Cluster.Spec, p.S.Waives("size")); err != nil && !p.S.Cancelling() {
			return rules.Block(ops.Refusal(err))
		}
	}
	return p.InTurn(outdated, "the leader restarts last, after it handed over to a member with the new settings",
		p.RollStep)
}

// movedBack waits, on the way back, for the members that were moved. One that
// was lost meanwhile must not bar the way to its replacement.
func movedBack(p rules.Situation) *ops.Decision {
	if !p.S.Cancelling() {
		return nil
	}
	for _, name := range p.VoterNames() {
		if err := p.E.Health(p.S.View, name); err != nil && p.Touched(name) && !p.Lost(name) {
			return p.Await("healthy", err.Error(), name)
		}
	}
	return nil
}

// unsettled lists voters whose workload or pod has other settings than wanted.
// On the way back only those that this operation touched count: the others
// never had anything else, even if another tool would write it differently.
func unsettled(p rules.Situation) []string {
	var out []string
	for _, name := range p.VoterNames() {
		m := p.S.Kube.Member(name)
		if !m.Workload.Exists || (p.S.Cancelling() && !p.Touched(name)) {
			continue
		}
		if p.OtherSettings(m) || p.Pending(name) && !p.Rolled(name) {
			out = append(out, name)
		}
	}
	return out
}

// oneVersion refuses to roll members of which one would change its version by
// it: that is an upgrade, with checks and a backup of its own.
func oneVersion(p rules.Situation) *ops.Decision {
	for _, name := range p.VoterNames() {
		if w := p.S.Kube.Member(name).Workload; w.Exists && w.Version != p.S.Cluster.Spec.Version {
			return rules.Block(&ops.Error{Kind: ops.Refused, Check: "mixed-versions",
				Message: fmt.Sprintf("%s is of version %s and %s wants %s, so a restart would change its version",
					name, w.Version,
					p.S.Cluster.Name, p.S.Cluster.Spec.Version),
				Hint: fmt.Sprintf("kubectl dbop upgrade %s --version %s", p.S.Cluster.Name, p.S.Cluster.Spec.Version)})
		}
	}
	return nil
}
