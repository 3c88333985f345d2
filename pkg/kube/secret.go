package kube

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// EnsureSecret reads a secret, or creates it. What an earlier cluster of the
// same name left is not used: others may hold its keys.
func (c *Client) EnsureSecret(ctx context.Context, cluster *v1alpha1.DatabaseCluster, name string,
	kind corev1.SecretType, labels map[string]string, make func() (map[string][]byte, error)) (*corev1.Secret, error) {
	key := client.ObjectKey{Namespace: cluster.Namespace, Name: name}
	s := &corev1.Secret{}
	err := c.API.Get(ctx, key, s)
	if errors.Is(err, ErrNotFound) {
		data, merr := make()
		if errors.Is(merr, ErrIssuing) {
			return nil, merr
		}
		if merr != nil {
			return nil, fmt.Errorf("make the contents of secret %s/%s: %w", cluster.Namespace, name, merr)
		}
		s = &corev1.Secret{
			ObjectMeta: ObjectMeta(cluster, name, labels), Type: kind, Data: data,
		}
		err = c.API.Create(ctx, s)
		if errors.Is(err, ErrExists) {
			err = c.API.Get(ctx, key, s)
		}
	}
	switch {
	case err != nil:
		return nil, err
	case s.Labels[v1alpha1.LabelCluster] != cluster.Name:
		return nil, c.ForeignError("create", s)
	case !BelongsTo(s, cluster) || s.DeletionTimestamp != nil:
		return nil, fmt.Errorf("secret %s/%s is of an earlier cluster of that name, or is being deleted: %w",
			cluster.Namespace, name, ErrConflict)
	}
	return s, nil
}
