package operation

import (
	"fmt"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// Resize changes resources and grows volumes. It is a change of settings whose volumes grow first.
type Resize struct{ Configure }

// Steps implements rules.Operation.
func (Resize) Steps() rules.Steps {
	return rules.Steps{Running: func(p rules.Situation) *ops.Decision {
		if d := growing(p); d != nil {
			return d
		}
		return mend(p)
	}, Joined: roll}
}

// growing brings the volumes to the wanted size, while their members run and
// before anything is asked of their health: a full volume makes members ill,
// and growth is the cure. It is not stepped back: no volume becomes smaller.
func growing(p rules.Situation) *ops.Decision {
	if p.S.Cancelling() {
		return nil
	}
	want := p.S.Cluster.Spec.Storage.Size
	var small, claims []string
	var waits *observe.Member
	for _, m := range p.S.Kube.Members {
		switch v := m.Volume; {
		case !v.Exists || v.Terminating || !p.S.Ours(m):
		case v.Size.Cmp(want) < 0:
			small = append(small, m.Name)
			claims = append(claims, "persistentvolumeclaim/"+v1alpha1.VolumeName(m.Name))
		case v.Bound && v.Capacity.Cmp(want) < 0 && waits == nil:
			waits = &m
		}
	}
	if len(small) > 0 {
		return rules.Do(ops.Step{ID: string(ops.ActionGrow), Action: ops.ActionGrow, Members: small, Risk: ops.RiskNone,
			Deadline: rules.StepDeadline, Touches: claims,
			Title:  fmt.Sprintf("Grow the volumes of %s to %s", strings.Join(small, ", "), want.String()),
			Reason: "while they run; a volume never becomes smaller again"})
	}
	if waits != nil {
		why := fmt.Sprintf("the volume of %s has %s, not %s", waits.Name, waits.Volume.Capacity.String(), want.String())
		if waits.Volume.Growth != "" {
			why += ": " + waits.Volume.Growth
		}
		return p.Await("grown", why, waits.Name)
	}
	return nil
}
