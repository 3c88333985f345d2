package rules

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// AgentImage is the image that agents of a cluster are to come from; "" where members have none, or no image is named.
func AgentImage(e engine.Engine, c *v1alpha1.DatabaseCluster) string {
	if !e.Capabilities().Agent {
		return ""
	}
	return c.Spec.HelperImage
}

// CheckHelperImage refuses to take away the image that agents come from.
func CheckHelperImage(e engine.Engine, spec v1alpha1.DatabaseClusterSpec) error {
	if spec.HelperImage != "" || !e.Capabilities().Agent {
		return nil
	}
	return &engine.Refusal{Check: "helper-image", Reason: "members of " + e.Name() + " run an agent, which comes from it",
		Hint: "name the image that their agents are to come from: --helper-image IMAGE"}
}

// OtherSettings reports whether a member's workload or pod has other settings than this operation wants. Where the
// image of the agents comes from counts only for an operation that changes it: somebody else may have named another.
func (p Situation) OtherSettings(m observe.Member) bool {
	return p.other(m.Workload.Settings, m.Workload.AgentImage) || m.Pod.Exists && p.OtherPod(m.Pod)
}

// OtherPod is OtherSettings of a pod alone.
func (p Situation) OtherPod(pod observe.Pod) bool { return p.other(pod.Settings, pod.AgentImage) }

func (p Situation) other(settings, agent string) bool {
	if settings != Settings(p.S, p.E) {
		return true
	}
	wanted := AgentImage(p.E, p.S.Cluster)
	return wanted != "" && p.renewsImage() && agent != wanted
}

// TakeHelperImage tells of another image where members have no agents: only pods that come later are made of it, so
// nobody restarts. nil if that is not what the operation is about, or it was told.
func (p Situation) TakeHelperImage() *ops.Decision {
	if !p.renewsImage() || p.E.Capabilities().Agent || p.S.Cancelling() || p.S.Fact(v1alpha1.FactHelperImage) != "" {
		return nil
	}
	o, c := p.S.Operation.Spec, p.S.Cluster
	if from := o.FromSettings; from == nil || from.HelperImage == nil || *from.HelperImage == c.Spec.HelperImage {
		return nil
	}
	step := ops.Step{ID: string(ops.ActionHelperImage), Action: ops.ActionHelperImage, Risk: ops.RiskNone,
		Deadline: StepDeadline, Title: "Take pods that load or keep backups from " + c.Spec.HelperImage,
		Reason: fmt.Sprintf("members of %s have no agents: none restarts", p.E.Name())}
	if c.Spec.HelperImage == "" {
		step.Title = "Take pods that load or keep backups from the image of the tool that makes them"
	}
	return Do(step)
}

// renewsImage reports whether the operation is about the image of this tool.
func (p Situation) renewsImage() bool {
	o := p.S.Operation
	return o != nil && o.Spec.Change != nil && o.Spec.Change.HelperImage != nil
}

// OnlyImage reports whether it is about nothing else.
func (p Situation) OnlyImage() bool {
	if !p.renewsImage() {
		return false
	}
	c := p.S.Operation.Spec.Change
	return len(c.Set)+len(c.Unset)+len(c.Requests)+len(c.Limits) == 0 && c.Size == nil && c.Routing == "" &&
		c.RedirectTo == nil
}
