package kube

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// DeletePod ends the pod of that identity, with its own grace, and returns
// before it is gone. If it is gone, or its successor has the name already,
// that is success.
func (c *Client) DeletePod(ctx context.Context, namespace, name, uid string) error {
	id := types.UID(uid)
	err := c.api.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}, client.Preconditions{UID: &id})
	if errors.Is(err, ErrConflict) {
		return nil
	}
	return ignoreGone(err)
}

// ForgetPod removes the pod of that identity from the API without waiting for
// its node, which may be gone for good. What still runs there runs on: only
// for a member that nobody counts on any more.
func (c *Client) ForgetPod(ctx context.Context, namespace, name, uid string) error {
	id := types.UID(uid)
	err := c.api.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}, client.Preconditions{UID: &id}, client.GracePeriodSeconds(0))
	if errors.Is(err, ErrConflict) {
		return nil
	}
	return ignoreGone(err)
}

// DeleteWorkload deletes the workload of that identity, and in the background
// its pod. The volume stays. If it is gone, or its successor has the name
// already, that is success.
func (c *Client) DeleteWorkload(ctx context.Context, namespace, member, uid string) error {
	return c.deleteSeen(ctx, uid, &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: member}}, client.PropagationPolicy(metav1.DeletePropagationBackground))
}

// DeleteVolume deletes a claim and so, by most storage classes, the data. It
// goes once no pod uses it any more. It spares a successor of that name.
func (c *Client) DeleteVolume(ctx context.Context, namespace, name, uid string) error {
	return c.deleteSeen(ctx, uid, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
}

// DeleteMemberCertificate deletes a member's certificate. A repeat does nothing.
func (c *Client) DeleteMemberCertificate(ctx context.Context, namespace, member string) error {
	return c.deleteOurs(ctx, "", &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v1alpha1.MemberSecret(member)}})
}

// DeleteClusterObjects deletes everything that carries the cluster's label but
// its volumes and records: what begins backups, the request to an issuer,
// workloads and helper pods that are left, services, the budget, secrets.
// Interrupted, a repeat deletes the rest.
func (c *Client) DeleteClusterObjects(ctx context.Context, cluster *v1alpha1.DatabaseCluster) error {
	return c.deleteObjects(ctx, cluster, func(metav1.Object) bool { return true })
}

// DeleteRemains deletes in the same way what an earlier cluster of that name
// left. It spares every object of this one.
func (c *Client) DeleteRemains(ctx context.Context, cluster *v1alpha1.DatabaseCluster) error {
	return c.deleteObjects(ctx, cluster, func(o metav1.Object) bool { return !belongs(o, cluster) })
}

func (c *Client) deleteObjects(ctx context.Context, cluster *v1alpha1.DatabaseCluster, chosen func(metav1.Object) bool) error {
	if err := c.deleteAnySchedule(ctx, cluster); err != nil {
		return err
	}
	if err := c.forgetRequest(ctx, cluster); err != nil {
		return err
	}
	for _, gvk := range []schema.GroupVersionKind{
		policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"),
		appsv1.SchemeGroupVersion.WithKind("StatefulSet"),
		corev1.SchemeGroupVersion.WithKind("Pod"),
		corev1.SchemeGroupVersion.WithKind("Service"),
		corev1.SchemeGroupVersion.WithKind("Secret"),
	} {
		if err := c.deleteLabelled(ctx, cluster, gvk, chosen); err != nil {
			return err
		}
	}
	return nil
}

// deleteLabelled deletes one by one: not everybody who may delete may delete collections.
func (c *Client) deleteLabelled(ctx context.Context, cluster *v1alpha1.DatabaseCluster, gvk schema.GroupVersionKind, chosen func(metav1.Object) bool) error {
	l := &metav1.PartialObjectMetadataList{}
	l.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	if err := c.api.List(ctx, l, client.InNamespace(cluster.Namespace), client.MatchingLabels{v1alpha1.LabelCluster: cluster.Name}); err != nil {
		return err
	}
	for i := range l.Items {
		o := &l.Items[i]
		if o.DeletionTimestamp != nil || !chosen(o) {
			continue
		}
		o.SetGroupVersionKind(gvk)
		if err := ignoreGone(c.api.Delete(ctx, o, client.Preconditions{UID: &o.UID}, client.PropagationPolicy(metav1.DeletePropagationBackground))); err != nil {
			return err
		}
	}
	return nil
}

// deleteSeen deletes an object of ours if it still is the one that was
// observed: a process can stand still between its look and this request, and
// another may have made a successor meanwhile.
func (c *Client) deleteSeen(ctx context.Context, uid string, obj client.Object, opts ...client.DeleteOption) error {
	id := types.UID(uid)
	found, err := c.peek(ctx, obj)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil
	case err != nil:
		return err
	case found.Labels[v1alpha1.LabelCluster] == "":
		return c.foreign("delete", obj)
	}
	if err := c.api.Delete(ctx, obj, append(opts, client.Preconditions{UID: &id})...); err != nil && !errors.Is(err, ErrConflict) {
		return ignoreGone(err)
	}
	return nil
}

// deleteOurs deletes an object if it is of the cluster, or of any cluster of
// ours for "", and if it still is the one that was looked at.
func (c *Client) deleteOurs(ctx context.Context, cluster string, obj client.Object, opts ...client.DeleteOption) error {
	found, err := c.peek(ctx, obj)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	owner := found.Labels[v1alpha1.LabelCluster]
	if owner == "" || (cluster != "" && owner != cluster) {
		return c.foreign("delete", obj)
	}
	return ignoreGone(c.api.Delete(ctx, obj, append(opts, client.Preconditions{UID: &found.UID})...))
}

func ignoreGone(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}
