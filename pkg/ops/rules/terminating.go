package rules

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
)

// Lingering stops where nothing is left to wait for but pods whose node does
// not confirm their end. A node that is silent may still run them, and only
// who knows the node can say that it is off: Kubernetes lets them go then. The
// tool never deletes a pod by force on its own judgement.
func (p Situation) Lingering(members []string) *ops.Decision {
	for _, name := range members {
		if m := p.S.Kube.Member(name); m.Workload.Exists || (m.Pod.Exists && !m.Pod.Terminating) {
			return nil // there is something to tell to go
		}
	}
	for _, name := range members {
		if pod := p.S.Kube.Member(name).Pod; pod.Exists && health.OnSilentNode(pod) {
			return Block(&ops.Error{Kind: ops.NeedsHuman, Check: "silent-node",
				Message: fmt.Sprintf("pod %s was told to go, and its node %s does not answer",
					v1alpha1.PodName(name), pod.Node),
				Hint: fmt.Sprintf("bring the node back, or, if it is off for good, %s; then repeat the command",
					health.NodeOff(pod.Node))})
		}
	}
	return nil
}
