package preflight

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// Mountable is where the pods can be that mount one claim at the same time.
type Mountable string

// Those are all.
const (
	// OnAnyNode is any number of pods.
	OnAnyNode Mountable = "any node"
	// OnOneNode is any number of pods of one node.
	OnOneNode Mountable = "one node"
	// ByOnePod is a single pod, or none that writes.
	ByOnePod Mountable = "one pod"
)

// WhereMounted says where pods can be that write to one claim at the same time, by its access modes: those of its
// volume or, before it has one, those that it asks for. kube.ErrNotFound if there is no such claim.
func WhereMounted(ctx context.Context, c *kube.Client, namespace, name string) (Mountable, error) {
	found, err := claim(ctx, c, namespace, name)
	if err != nil {
		return "", err
	}
	modes := found.Status.AccessModes
	if len(modes) == 0 {
		modes = found.Spec.AccessModes
	}
	switch {
	case slices.Contains(modes, corev1.ReadWriteMany):
		return OnAnyNode, nil
	case slices.Contains(modes, corev1.ReadWriteOnce):
		return OnOneNode, nil
	}
	return ByOnePod, nil
}
