package kube

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// MendSecret gives a secret its labels back and removes owners and finalizers;
// its content stays. One that does not exist is left to whoever makes it.
func (c *Client) MendSecret(ctx context.Context, cluster *v1alpha1.DatabaseCluster, name, member string) error {
	want := secretMetadata(cluster, name, member)
	found, err := c.peek(ctx, want)
	if err != nil {
		return ignoreGone(err)
	}
	if !belongs(found, cluster) && !unlabelled(found, cluster) {
		return c.foreign("patch", want)
	}
	if err := c.strip(ctx, want, found); err != nil {
		return err
	}
	live := &corev1.Secret{}
	if err := c.api.Get(ctx, client.ObjectKeyFromObject(want), live); err != nil {
		return ignoreGone(err)
	}
	before := live.DeepCopy()
	live.Labels, live.Annotations = merged(live.Labels, want.Labels), merged(live.Annotations, want.Annotations)
	return c.api.Patch(ctx, live, client.MergeFrom(before))
}

// LabelPod gives a member's pod the labels by which services, the budget and
// its workload find it. A repeat changes nothing.
func (c *Client) LabelPod(ctx context.Context, cluster *v1alpha1.DatabaseCluster, member string) error {
	p := &corev1.Pod{}
	if err := c.api.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: v1alpha1.PodName(member)}, p); err != nil {
		return ignoreGone(err)
	}
	before := p.DeepCopy()
	p.Labels = merged(p.Labels, merged(memberSelector(cluster.Name), map[string]string{v1alpha1.LabelMember: member}))
	return ignoreGone(c.api.Patch(ctx, p, client.MergeFrom(before)))
}
