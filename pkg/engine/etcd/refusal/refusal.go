// Package refusal spells the refusals of the rules of etcd.
package refusal

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/addresses"
)

// New makes a refusal. hint is a command or an advice.
func New(check, hint, reason string, args ...any) error {
	return &engine.Refusal{Check: check, Reason: fmt.Sprintf(reason, args...), Hint: hint}
}

// UnknownVersion refuses a version that does not exist.
func UnknownVersion(hint, reason string, args ...any) error {
	return &engine.Refusal{Check: "version", Unknown: true, Reason: fmt.Sprintf(reason, args...), Hint: hint}
}

// Command spells a command for the cluster that the view shows. A view does
// not carry the cluster's name, its members' names do.
func Command(verb string, v engine.View) string {
	return "kubectl dbop " + verb + " " + clusterName(v)
}

func clusterName(v engine.View) string {
	for _, m := range v.Members {
		if name := addresses.ClusterOf(m.Name); name != "" {
			return name
		}
	}
	for _, r := range v.MemberList {
		if name := addresses.ClusterOf(r.Name); name != "" {
			return name
		}
	}
	return "NAME"
}
