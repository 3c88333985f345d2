// Package helperpod runs pods that do one task beside a cluster.
package helperpod

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
)

// Create starts a helper pod and returns before it runs. One of that
// name that exists already is left as it is.
func Create(ctx context.Context, c *kube.Client, in Spec) error {
	err := c.API.Create(ctx, Build(in))
	if errors.Is(err, kube.ErrExists) {
		return nil
	}
	return err
}

// Get reads one helper pod; ErrNotFound if there is none.
func Get(ctx context.Context, c *kube.Client, namespace, name string) (observe.Helper, error) {
	p := &corev1.Pod{}
	if err := c.API.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, p); err != nil {
		return observe.Helper{}, err
	}
	return observe.HelperFacts(p, c.Now()), nil
}

// Delete ends a helper pod and returns before it is gone. A pod that is
// no helper is refused with ErrForeign; a repeat does nothing.
func Delete(ctx context.Context, c *kube.Client, namespace, name string) error {
	return remove(ctx, c, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
}

// remove deletes an object that has the label of a helper, and no other object that has its name.
func remove(ctx context.Context, c *kube.Client, o client.Object, options ...client.DeleteOption) error {
	found, err := c.Metadata(ctx, o)
	switch {
	case errors.Is(err, kube.ErrNotFound):
		return nil
	case err != nil:
		return err
	case found.Labels[v1alpha1.LabelPurpose] == "":
		return c.ForeignError("delete", o)
	case found.DeletionTimestamp != nil:
		return nil
	}
	return kube.IgnoreNotFound(c.API.Delete(ctx, o, append(options, client.Preconditions{UID: &found.UID})...))
}
