package ops

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// lingering stops where nothing is left to wait for but pods whose node does
// not confirm their end. A node that is silent may still run them, and only
// who knows the node can say that it is off: Kubernetes lets them go then. The
// tool never deletes a pod by force on its own judgement.
func (p planner) lingering(members []string) *Decision {
	for _, name := range members {
		if m := p.s.Kube.Member(name); m.Workload.Exists || (m.Pod.Exists && !m.Pod.Terminating) {
			return nil // there is something to tell to go
		}
	}
	for _, name := range members {
		if pod := p.s.Kube.Member(name).Pod; pod.Exists && onSilentNode(pod) {
			return block(&Error{Kind: NeedsHuman, Check: "silent-node",
				Message: fmt.Sprintf("pod %s was told to go, and its node %s does not answer", v1alpha1.PodName(name), pod.Node),
				Hint:    fmt.Sprintf("bring the node back, or, if it is off for good, %s; then repeat the command", nodeOff(pod.Node))})
		}
	}
	return nil
}

// onSilentNode reports whether a pod has a node, and that is lost.
func onSilentNode(pod kube.Pod) bool {
	return pod.Node != "" && pod.Problem != nil && pod.Problem.Kind == kube.ProblemNode
}

// nodeOff is how a person tells Kubernetes that a node never comes back.
func nodeOff(node string) string {
	return "tell Kubernetes so: kubectl delete node " + node
}
