package kube

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
)

// Apply takes ownership by force, because one field manager serves command
// line and operator alike; so it first makes sure that nobody else's object
// bears the name, nor one of an earlier cluster. What others added to it is
// removed first: an apply alone leaves it there.
func (c *Client) Apply(ctx context.Context, cluster *v1alpha1.DatabaseCluster, obj client.Object) error {
	found, err := c.Metadata(ctx, obj)
	switch {
	case errors.Is(err, ErrNotFound):
	case err != nil:
		return err
	case !BelongsTo(found, cluster) && !Unlabelled(found, cluster):
		return c.ForeignError("patch", obj)
	default:
		if err := c.Strip(ctx, obj, found); err != nil {
			return err
		}
	}
	return c.ServerSideApply(ctx, obj)
}

// ServerSideApply sends the object as it is and reads back what came of it.
func (c *Client) ServerSideApply(ctx context.Context, obj client.Object, opts ...client.ApplyOption) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return fmt.Errorf("write %s %s/%s: %w", obj.GetObjectKind().GroupVersionKind().Kind, obj.GetNamespace(),
			obj.GetName(), err)
	}
	delete(content, "status")
	wanted := &unstructured.Unstructured{Object: drift.Prune(content)}
	if err := c.API.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted),
		append(opts, client.ForceOwnership)...); err != nil {
		return err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(wanted.Object, obj); err != nil {
		return fmt.Errorf("read back %s %s/%s: %w", wanted.GetKind(), obj.GetNamespace(), obj.GetName(), err)
	}
	return nil
}

// Metadata reads an object's metadata alone.
func (c *Client) Metadata(ctx context.Context, obj client.Object) (*metav1.PartialObjectMetadata, error) {
	gvk, err := c.API.GroupVersionKindFor(obj)
	if err != nil {
		return nil, fmt.Errorf("read %s/%s: %w", obj.GetNamespace(), obj.GetName(), err)
	}
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(gvk)
	return m, c.API.Get(ctx, client.ObjectKeyFromObject(obj), m)
}

func (c *Client) ForeignError(verb string, obj client.Object) error {
	return &RequestError{Verb: verb, Resource: ResourceOf(c.API, obj), Namespace: obj.GetNamespace(), Name: obj.GetName(),
		Kind: ErrForeign}
}
