package workload

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
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
)

// DeletePod ends the pod of that identity, with its own grace, and returns
// before it is gone. If it is gone, or its successor has the name already,
// that is success.
func DeletePod(ctx context.Context, c *kube.Client, namespace, name, uid string) error {
	id := types.UID(uid)
	err := c.API.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}},
		client.Preconditions{UID: &id})
	if errors.Is(err, kube.ErrConflict) {
		return nil
	}
	return kube.IgnoreNotFound(err)
}

// ForgetPod removes the pod of that identity from the API without waiting for
// its node, which may be gone for good. What still runs there runs on: only
// for a member that nobody counts on any more.
func ForgetPod(ctx context.Context, c *kube.Client, namespace, name, uid string) error {
	id := types.UID(uid)
	err := c.API.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}},
		client.Preconditions{UID: &id}, client.GracePeriodSeconds(0))
	if errors.Is(err, kube.ErrConflict) {
		return nil
	}
	return kube.IgnoreNotFound(err)
}

// Delete deletes the workload of that identity, and in the background
// its pod. The volume stays. If it is gone, or its successor has the name
// already, that is success.
func Delete(ctx context.Context, c *kube.Client, namespace, member, uid string) error {
	return c.DeleteObserved(ctx, uid, &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace,
		Name: member}}, client.PropagationPolicy(metav1.DeletePropagationBackground))
}

// DeleteVolume deletes a claim and so, by most storage classes, the data. It
// goes once no pod uses it any more. It spares a successor of that name.
func DeleteVolume(ctx context.Context, c *kube.Client, namespace, name, uid string) error {
	return c.DeleteObserved(ctx, uid, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace,
		Name: name}})
}

// DeleteClusterObjects deletes everything that carries the cluster's label but
// its volumes and records: what begins backups, the request to an issuer,
// workloads and helper pods that are left, services, the budget, secrets.
// Interrupted, a repeat deletes the rest.
func DeleteClusterObjects(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster) error {
	return deleteObjects(ctx, c, cluster, func(metav1.Object) bool { return true })
}

// DeleteLeftovers deletes in the same way what an earlier cluster of that name
// left. It spares every object of this one.
func DeleteLeftovers(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster) error {
	return deleteObjects(ctx, c, cluster, func(o metav1.Object) bool { return !kube.BelongsTo(o, cluster) })
}

func deleteObjects(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster,
	chosen func(metav1.Object) bool) error {
	if err := deleteAnySchedule(ctx, c, cluster); err != nil {
		return err
	}
	if err := deleteAnyAccount(ctx, c, cluster); err != nil {
		return err
	}
	if err := pki.DeleteRequest(ctx, c, cluster); err != nil {
		return err
	}
	for _, gvk := range []schema.GroupVersionKind{
		policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"),
		appsv1.SchemeGroupVersion.WithKind("StatefulSet"),
		corev1.SchemeGroupVersion.WithKind("Pod"),
		corev1.SchemeGroupVersion.WithKind("Service"),
		corev1.SchemeGroupVersion.WithKind("Secret"),
	} {
		if err := deleteLabelled(ctx, c, cluster, gvk, chosen); err != nil {
			return err
		}
	}
	return nil
}

// deleteLabelled deletes one by one: not everybody who may delete may delete collections.
func deleteLabelled(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster, gvk schema.GroupVersionKind,
	chosen func(metav1.Object) bool) error {
	l := &metav1.PartialObjectMetadataList{}
	l.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	if err := c.API.List(ctx, l, client.InNamespace(cluster.Namespace),
		client.MatchingLabels{v1alpha1.LabelCluster: cluster.Name}); err != nil {
		return err
	}
	for i := range l.Items {
		o := &l.Items[i]
		if o.DeletionTimestamp != nil || !chosen(o) {
			continue
		}
		o.SetGroupVersionKind(gvk)
		if err := kube.IgnoreNotFound(c.API.Delete(ctx, o, client.Preconditions{UID: &o.UID},
			client.PropagationPolicy(metav1.DeletePropagationBackground))); err != nil {
			return err
		}
	}
	return nil
}
