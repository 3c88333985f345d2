package kube

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
)

// Strip takes away what the comparison of an object would find added: fields
// that others set, owners and finalizers.
func (c *Client) Strip(ctx context.Context, want client.Object, found *metav1.PartialObjectMetadata) error {
	paths := drift.ComparisonOf(want).Additions(drift.OwnersOf(found.GetManagedFields()), drift.Content(want))
	owners, finalizers := drift.ForeignOwners(want, found), drift.ForeignFinalizers(found)
	if len(paths)+len(owners)+len(finalizers) == 0 {
		return nil
	}
	gvk, err := c.API.GroupVersionKindFor(want)
	if err != nil {
		return err
	}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(gvk)
	if err := c.API.Get(ctx, client.ObjectKeyFromObject(want), live); err != nil {
		return err
	}
	before := live.DeepCopy()
	for _, p := range paths {
		drift.RemovePath(live.Object, p)
	}
	live.SetOwnerReferences(without(live.GetOwnerReferences(), owners, func(a, b metav1.OwnerReference) bool {
		return a.UID == b.UID
	}))
	live.SetFinalizers(without(live.GetFinalizers(), finalizers, func(a, b string) bool { return a == b }))
	return c.API.Patch(ctx, live, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
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
