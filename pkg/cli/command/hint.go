package command

import (
	"errors"
	"net"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// HintOf finds the first advice in a chain of errors.
func HintOf(err error) string {
	for e, ok := ops.AsError(err); ok; e, ok = ops.AsError(e.Err) {
		if e.Hint != "" {
			return e.Hint
		}
	}
	var advised interface{ Hint() string }
	if errors.As(err, &advised) && advised.Hint() != "" {
		return advised.Hint()
	}
	switch {
	case errors.Is(err, repository.ErrNoSpace):
		return "make room there, then repeat the command; or step back with " + DisplayName +
			" cancel, and choose another repository"
	case errors.Is(err, repository.ErrDamaged), errors.Is(err, repository.ErrNotFound):
		return DisplayName + " backup list shows what there is"
	}
	var network *net.OpError
	switch {
	case clientcmd.IsEmptyConfig(err):
		return "name a kubeconfig with --kubeconfig or the variable KUBECONFIG"
	case clientcmd.IsContextNotFound(err):
		return "kubectl config get-contexts lists what there is"
	case apierrors.IsForbidden(err):
		return "the built-in role edit of the namespace grants what this tool needs; kubectl auth can-i --list " +
			"shows what you may do"
	case apierrors.IsUnauthorized(err):
		return "log in to the cluster again; kubectl auth whoami tells who you are"
	case errors.As(err, &network):
		return "is the API server reachable? kubectl cluster-info tries the same address"
	}
	return ""
}
