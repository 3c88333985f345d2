package kube

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// Unlabelled reports whether an object of the cluster lost the label by which
// it is listed.
func Unlabelled(o metav1.Object, c *v1alpha1.DatabaseCluster) bool {
	return o.GetLabels()[v1alpha1.LabelCluster] != c.Name && c.Status.ID != "" &&
		o.GetAnnotations()[AnnotationClusterID] == c.Status.ID
}

// FindUnlabelled reads an object that a list lacks, and reports whether it is one
// that lost its label. Who may only list is told nothing.
func (c *Client) FindUnlabelled(ctx context.Context, cluster *v1alpha1.DatabaseCluster, listed bool,
	key client.ObjectKey, o client.Object) (bool, error) {
	if listed {
		return false, nil
	}
	err := c.API.Get(ctx, key, o)
	if _, forbidden := errors.AsType[*ForbiddenError](err); forbidden || errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil && Unlabelled(o, cluster), err
}
