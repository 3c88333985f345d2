package etcd

import (
	"fmt"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// refuse makes a refusal. hint is a command or an advice.
func refuse(check, hint, reason string, args ...any) error {
	return &engine.Refusal{Check: check, Reason: fmt.Sprintf(reason, args...), Hint: hint}
}

// unknownVersion refuses a version that does not exist.
func unknownVersion(hint, reason string, args ...any) error {
	return &engine.Refusal{Check: "version", Unknown: true, Reason: fmt.Sprintf(reason, args...), Hint: hint}
}

// command spells a command for the cluster that the view shows. A view does
// not carry the cluster's name, its members' names do.
func command(verb string, v engine.View) string {
	return "kubectl dbop " + verb + " " + clusterName(v)
}

func clusterName(v engine.View) string {
	for _, m := range v.Members {
		if name := clusterOf(m.Name); name != "" {
			return name
		}
	}
	for _, r := range v.MemberList {
		if name := clusterOf(r.Name); name != "" {
			return name
		}
	}
	return "NAME"
}

func clusterOf(member string) string {
	i := strings.LastIndex(member, "-")
	if i < 1 {
		return ""
	}
	return member[:i]
}
