package pki

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// RepairSecret gives a secret its labels back and removes owners and finalizers;
// its content stays. One that does not exist is left to the step that makes it.
func RepairSecret(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster, name, member string) error {
	want := secretMetadata(cluster, name, member)
	found, err := c.Metadata(ctx, want)
	if err != nil {
		return kube.IgnoreNotFound(err)
	}
	if !kube.BelongsTo(found, cluster) && !kube.Unlabelled(found, cluster) {
		return c.ForeignError("patch", want)
	}
	if err := c.Strip(ctx, want, found); err != nil {
		return err
	}
	live := &corev1.Secret{}
	if err := c.API.Get(ctx, client.ObjectKeyFromObject(want), live); err != nil {
		return kube.IgnoreNotFound(err)
	}
	before := live.DeepCopy()
	live.Labels, live.Annotations = kube.Merged(live.Labels, want.Labels), kube.Merged(live.Annotations, want.Annotations)
	return c.API.Patch(ctx, live, client.MergeFrom(before))
}
