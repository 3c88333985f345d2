package kube

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// DeleteObserved deletes an object of ours if it still is the one that was
// observed: a process can stop between that observation and this request, and
// another may have made a successor meanwhile.
func (c *Client) DeleteObserved(ctx context.Context, uid string, obj client.Object, opts ...client.DeleteOption) error {
	id := types.UID(uid)
	found, err := c.Metadata(ctx, obj)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil
	case err != nil:
		return err
	case found.Labels[v1alpha1.LabelCluster] == "":
		return c.ForeignError("delete", obj)
	}
	if err := c.API.Delete(ctx, obj, append(opts, client.Preconditions{UID: &id})...); err != nil &&
		!errors.Is(err, ErrConflict) {
		return IgnoreNotFound(err)
	}
	return nil
}

// DeleteOwned deletes an object if it is of the cluster, or of any cluster of
// ours for "", and if it still is the one that was read.
func (c *Client) DeleteOwned(ctx context.Context, cluster string, obj client.Object,
	opts ...client.DeleteOption) error {
	found, err := c.Metadata(ctx, obj)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	owner := found.Labels[v1alpha1.LabelCluster]
	if owner == "" || (cluster != "" && owner != cluster) {
		return c.ForeignError("delete", obj)
	}
	return IgnoreNotFound(c.API.Delete(ctx, obj, append(opts, client.Preconditions{UID: &found.UID})...))
}

// IgnoreNotFound returns nil for ErrNotFound, and any other error as it is.
func IgnoreNotFound(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}
