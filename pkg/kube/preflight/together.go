package preflight

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// selectedNode is what the scheduler writes to a claim whose volume is made where its first pod runs.
const selectedNode = "volume.kubernetes.io/selected-node"

// Apart says why one pod can't be relied on to mount both claims: shared, whose volume is there, and own, for which one
// is still to be made; "" if it can. Nodes and volumes can't be read with rights in a namespace alone, so this is
// judged by the claims: own must get its volume on whichever node the pod runs, and no other pod may hold shared on a
// node. Pods of the purpose passing don't count: they are gone in a moment.
func Apart(ctx context.Context, c *kube.Client, namespace, shared, own, passing string) (string, error) {
	there, err := claim(ctx, c, namespace, shared)
	if err != nil {
		return unreadable(err)
	}
	made, err := claim(ctx, c, namespace, own)
	if err != nil {
		return unreadable(err)
	}
	switch {
	case there.Status.Phase != corev1.ClaimBound:
		return fmt.Sprintf("claim %s has no volume yet", shared), nil
	case made.Spec.VolumeName != "":
		return fmt.Sprintf("claim %s has a volume already, which may be on another node", own), nil
	}
	follows, err := follow(ctx, c, there, made)
	if err != nil {
		return "", err
	}
	if !follows {
		return fmt.Sprintf("the volume of claim %s may be made on another node than that of claim %s", own, shared), nil
	}
	modes := there.Status.AccessModes
	if slices.Contains(modes, corev1.ReadWriteMany) || slices.Contains(modes, corev1.ReadOnlyMany) {
		return "", nil
	}
	user, err := holder(ctx, c, namespace, shared, passing)
	if err != nil || user == "" {
		return "", err
	}
	return fmt.Sprintf("pod %s uses claim %s", user, shared), nil
}

func claim(ctx context.Context, c *kube.Client, namespace, name string) (*corev1.PersistentVolumeClaim, error) {
	out := &corev1.PersistentVolumeClaim{}
	return out, c.API.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, out)
}

// unreadable takes a claim that can't be read for one that can't be mounted.
func unreadable(err error) (string, error) {
	if errors.Is(err, kube.ErrNotFound) {
		return err.Error(), nil
	}
	return Unreadable(err)
}

// follow reports whether the second claim gets its volume where its first pod runs. That is known without a right to
// read storage classes if the first is of the same class, and got its volume so.
func follow(ctx context.Context, c *kube.Client, there, made *corev1.PersistentVolumeClaim) (bool, error) {
	class := made.Spec.StorageClassName
	if class == nil || *class == "" {
		return false, nil
	}
	if same := there.Spec.StorageClassName; same != nil && *same == *class && there.Annotations[selectedNode] != "" {
		return true, nil
	}
	return Follows(ctx, c, *class)
}

// holder is a pod that uses a claim, and is of another purpose than passing; "" for none.
func holder(ctx context.Context, c *kube.Client, namespace, name, passing string) (string, error) {
	pods := &corev1.PodList{}
	if err := c.API.List(ctx, pods, client.InNamespace(namespace)); err != nil {
		return Unreadable(err)
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed ||
			p.Labels[v1alpha1.LabelPurpose] == passing {
			continue
		}
		for _, v := range p.Spec.Volumes {
			if v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == name {
				return p.Name, nil
			}
		}
	}
	return "", nil
}
