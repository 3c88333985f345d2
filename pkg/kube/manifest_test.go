package kube_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
)

// TestApplyManifestWaitsForADeletion: what is applied to an object that is being
// deleted would go with it.
func TestApplyManifestWaitsForADeletion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1",
			Kind: "CustomResourceDefinition"})
		u.SetName("databaseclusters.dbop.dev")
		gone, applied := time.Now().Add(3*time.Second), time.Time{}
		c, _ := kubetest.New(t, interceptor.Funcs{
			Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, o client.Object,
				_ ...client.GetOption) error {
				if !time.Now().Before(gone) {
					return apierrors.NewNotFound(schema.GroupResource{Resource: "customresourcedefinitions"}, key.Name)
				}
				o.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
				return nil
			},
			Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
				applied = time.Now()
				return nil
			},
		})
		if err := c.ApplyManifest(t.Context(), u); err != nil || applied.Before(gone) {
			t.Errorf("applied at %s, it was gone at %s: %v", applied, gone, err)
		}
	})
}
