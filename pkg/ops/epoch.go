package ops

import (
	"context"
	"fmt"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// epochOf is what a cluster is before another epoch begins.
func epochOf(c *v1alpha1.DatabaseCluster) *v1alpha1.Epoch {
	if c.Status.Formation == nil {
		return nil
	}
	return &v1alpha1.Epoch{Formation: *c.Status.Formation.DeepCopy(), RestoreFrom: c.Spec.RestoreFrom.DeepCopy(), Auth: c.Spec.Auth.Enabled, Stopped: c.Spec.Stopped}
}

// ReturnToEpoch makes the cluster what it was before the operation began
// another epoch. A repeat changes nothing.
func ReturnToEpoch(c *v1alpha1.DatabaseCluster, op *v1alpha1.Operation) {
	from := op.Spec.FromEpoch.DeepCopy()
	c.Spec.RestoreFrom, c.Spec.Auth.Enabled, c.Spec.Stopped = from.RestoreFrom, from.Auth, from.Stopped
	c.Status.Formation = &from.Formation
}

// returnToEpoch goes back from an in-place restore: the members of the new
// epoch stop, the former founding is in force again, and the former members
// start on their volumes, which nobody touched meanwhile. Wherever it is
// interrupted, the founding in force says what is left to do.
func (p planner) returnToEpoch() *Decision {
	if p.epochBegun() {
		if d := p.volumesLeft(); d != nil {
			return d
		}
		if names := p.running(); len(names) > 0 {
			if d := p.lingering(names); d != nil {
				return d
			}
			return do(Step{ID: "stop-members", Action: ActionStop, Members: names, Risk: RiskDowntime, Deadline: waitDeadline, Touches: statefulSets(names),
				Title: "Stop " + strings.Join(names, ", "), Reason: "the former members must not run next to them"})
		}
		return do(Step{ID: string(ActionOldEpoch), Action: ActionOldEpoch, Risk: RiskIrreversible, Deadline: stepDeadline,
			Title: "Go back to the former volumes", Reason: "they are as they were before the restore"})
	}
	if names := p.neverServed(); len(names) > 0 {
		return do(Step{ID: "delete-volumes/" + strings.Join(names, ","), Action: ActionDeleteVolume, Members: names, Risk: RiskIrreversible, Deadline: waitDeadline,
			Title: "Drop the volume of " + strings.Join(names, ", "), Reason: "the backup was loaded into it, and no member ran on it", Touches: claims(names)})
	}
	if p.s.Cluster.Spec.Stopped {
		return &Decision{Done: true}
	}
	if d := p.starting(); d != nil {
		return d
	}
	if !p.s.View.Quorum {
		return p.await("quorum", "the former members come up and look for each other", p.running()...)
	}
	for _, name := range p.voterNames() {
		if err := p.e.Health(p.s.View, name); err != nil && !p.lost(name) {
			return p.await("healthy", err.Error(), name)
		}
	}
	return &Decision{Done: true}
}

// volumesLeft refuses to stop anything for volumes that are not there any more.
func (p planner) volumesLeft() *Decision {
	left, from := 0, p.s.Operation.Spec
	for _, m := range p.s.Kube.Members {
		if m.Volume.Exists && !m.Volume.Terminating && m.Volume.Token == from.FromEpoch.Formation.Token {
			left++
		}
	}
	if left >= majority(int(from.FromMembers)) {
		return nil
	}
	return block(&Error{Kind: Refused, Check: "volumes", Message: fmt.Sprintf("only %d of the %d former volumes of %s are left, which is no majority", left, from.FromMembers, p.s.Cluster.Name),
		Hint: "finish the restore: kubectl dbop resume " + p.s.Cluster.Name})
}

// neverServed lists the members of the new epoch of which nothing but a volume
// exists, if none was ever started: from then on clients may have written.
func (p planner) neverServed() []string {
	var out []string
	for _, m := range p.s.Kube.Members {
		if m.Volume.Exists && m.Volume.Token == EpochToken(p.s.Operation) && !m.Workload.Exists && !m.Pod.Exists && !p.began(ActionStart) {
			out = append(out, m.Name)
		}
	}
	return out
}

// returnToEpoch ends what loads a backup into the new epoch's volume, and
// writes the former founding into the cluster.
func (l *Live) returnToEpoch(ctx context.Context, s State) error {
	for _, h := range s.Kube.Helpers {
		if h.Purpose != kube.PurposeLoad {
			continue
		}
		if err := l.Client.DeleteHelper(ctx, l.Namespace, h.Name); err != nil {
			return fmt.Errorf("remove loader pod %s: %w", h.Name, err)
		}
	}
	return l.change(ctx, func(c *v1alpha1.DatabaseCluster) { ReturnToEpoch(c, s.Operation) })
}

// keptVolumes is the fact that names the volumes of before the epoch that the
// operation in flight begins.
func keptVolumes(s State) map[string]string {
	var names []string
	for _, m := range s.Kube.Members {
		if m.Volume.Exists && m.Volume.Token != EpochToken(s.Operation) {
			names = append(names, v1alpha1.VolumeName(m.Name))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return map[string]string{v1alpha1.FactKept: strings.Join(names, " ")}
}
