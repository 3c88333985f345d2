package kube

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// CreateHelper starts a helper pod and returns before it runs. One of that
// name that exists already is left as it is.
func (c *Client) CreateHelper(ctx context.Context, in HelperSpec) error {
	err := c.api.Create(ctx, BuildHelper(in))
	if errors.Is(err, ErrExists) {
		return nil
	}
	return err
}

// Helper reads one helper pod; ErrNotFound if there is none.
func (c *Client) Helper(ctx context.Context, namespace, name string) (Helper, error) {
	p := &corev1.Pod{}
	if err := c.api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, p); err != nil {
		return Helper{}, err
	}
	return helperFacts(p, c.Now()), nil
}

// DeleteHelper ends a helper pod and returns before it is gone. A pod that is
// no helper is refused with ErrForeign; a repeat does nothing.
func (c *Client) DeleteHelper(ctx context.Context, namespace, name string) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	found, err := c.peek(ctx, pod)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil
	case err != nil:
		return err
	case found.Labels[v1alpha1.LabelPurpose] == "":
		return c.foreign("delete", pod)
	case found.DeletionTimestamp != nil:
		return nil
	}
	return ignoreGone(c.api.Delete(ctx, pod, client.Preconditions{UID: &found.UID}))
}
