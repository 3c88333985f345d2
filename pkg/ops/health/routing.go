package health

import (
	"fmt"

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
