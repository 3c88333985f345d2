package kube

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// comparisonOf is how objects of that kind are compared.
func comparisonOf(o client.Object) comparison {
	switch o.(type) {
	case *corev1.Service:
		return comparison{added: []string{"spec.selector"}}
	case *policyv1.PodDisruptionBudget:
		return comparison{added: []string{"spec.selector", "spec.maxUnavailable"}}
	case *appsv1.StatefulSet:
		// Annotations and labels that others add to pods change no database.
		return comparison{added: []string{"spec"}, besides: []string{"spec.template.metadata"}}
	case *batchv1.CronJob:
		return comparison{added: []string{"spec"}, besides: []string{"spec.suspend", "spec.jobTemplate.metadata", "spec.jobTemplate.spec.template.metadata"}}
	case *rbacv1.Role:
		return comparison{exact: []string{"rules"}}
	case *rbacv1.RoleBinding:
		return comparison{exact: []string{"subjects", "roleRef"}}
	}
	return comparison{}
}

// of is the comparison of one object.
func (c comparison) of(kind, name, member string) comparison {
	c.object, c.member = reference(kind, name), member
	return c
}

// strip takes away what the comparison of an object would find added: fields
// that others set, owners and finalizers.
func (c *Client) strip(ctx context.Context, want client.Object, found *metav1.PartialObjectMetadata) error {
	paths := comparisonOf(want).additions(ownersOf(found.GetManagedFields()), content(want))
	owners, finalizers := foreignOwners(want, found), foreignFinalizers(found)
	if len(paths)+len(owners)+len(finalizers) == 0 {
		return nil
	}
	gvk, err := c.api.GroupVersionKindFor(want)
	if err != nil {
		return err
	}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(gvk)
	if err := c.api.Get(ctx, client.ObjectKeyFromObject(want), live); err != nil {
		return err
	}
	before := live.DeepCopy()
	for _, p := range paths {
		remove(live.Object, p)
	}
	live.SetOwnerReferences(without(live.GetOwnerReferences(), owners, func(a, b metav1.OwnerReference) bool { return a.UID == b.UID }))
	live.SetFinalizers(without(live.GetFinalizers(), finalizers, func(a, b string) bool { return a == b }))
	return c.api.Patch(ctx, live, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// without returns a list less some of its elements.
func without[T any](all, less []T, same func(a, b T) bool) []T {
	var out []T
	for _, a := range all {
		gone := false
		for _, b := range less {
			gone = gone || same(a, b)
		}
		if !gone {
			out = append(out, a)
		}
	}
	return out
}
