package health

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// misled finds a client service that is to lead straight to the primary, and does not: its agent can't change it. An
// operation may change the primary at any moment.
func misled(s ops.State) (ops.Finding, bool) {
	leader, leads := s.View.Leader()
	if !s.Kube.Direct || s.Operation != nil || !leads || s.Kube.LedTo == leader.Name {
		return ops.Finding{}, false
	}
	to := "to no member"
	if s.Kube.LedTo != "" {
		to = "to " + s.Kube.LedTo
	}
	return ops.Finding{
		Severity: ops.Fail, Subject: KindService + "/" + v1alpha1.ClientService(s.Cluster.Name),
		What:     fmt.Sprintf("it leads %s, and %s is the primary", to, leader.Name),
		Evidence: []string{fmt.Sprintf("the agent of %s changes it in a second or two, or says why it can't", leader.Name)},
		Remedy:   []string{"kubectl dbop logs " + s.Cluster.Name + " --since 2m"},
	}, true
}

// tokensRenewed is after how long the kubelet has replaced every token of a pod.
const tokensRenewed = time.Hour + 2*time.Minute

// outlived finds pods whose token is of an account that was deleted: one that is made in its place is another account.
// The kubelet does not know that, and renews a token by its age alone.
func outlived(s ops.State) (ops.Finding, bool) {
	made := s.Kube.Account
	renewed := made.Add(tokensRenewed)
	if !s.Kube.Direct || s.Operation != nil || made.IsZero() || s.Now.After(renewed) {
		return ops.Finding{}, false
	}
	var with []string
	for _, m := range s.Kube.Members {
		witness := s.Cluster.Status.Bootstrap != nil && slices.Contains(s.Cluster.Status.Bootstrap.Witnesses, m.Name)
		if m.Pod.Exists && !witness && m.Pod.Created.Before(made) {
			with = append(with, m.Name)
		}
	}
	if len(with) == 0 {
		return ops.Finding{}, false
	}
	return ops.Finding{
		Severity: ops.Fail, Subject: KindAccount + "/" + v1alpha1.AgentAccount(s.Cluster.Name),
		What: fmt.Sprintf("it was made again, and the pods of %s are older: they can't lead clients to another primary "+
			"until they restart, or Kubernetes gives them new tokens, at %s at the latest", strings.Join(with, ", "),
			renewed.UTC().Format("15:04 MST")),
		Evidence: []string{"the API server refuses tokens of an account that was deleted"},
		Remedy:   []string{"kubectl dbop restart " + s.Cluster.Name},
	}, true
}
