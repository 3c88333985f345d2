package operator

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// newDefinition asks the API server, never a cache, for the UID of the
// definition of custom resources. One that is being deleted takes all its
// objects along, so that their deletion says nothing about any of them: it
// counts as none, and so does one that this operator has no right to read.
func newDefinition(api client.Reader) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		d := &metav1.PartialObjectMetadata{}
		d.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1",
			Kind: "CustomResourceDefinition"})
		err := api.Get(ctx, client.ObjectKey{Name: v1alpha1.DefinitionName}, d)
		switch {
		case apierrors.IsNotFound(err), apierrors.IsForbidden(err), err == nil && d.DeletionTimestamp != nil:
			return "", nil
		case err != nil:
			return "", fmt.Errorf("read customresourcedefinition %s: %w", v1alpha1.DefinitionName, err)
		}
		return string(d.UID), nil
	}
}
