package kube_test

import (
	"context"
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
)

// TestHoldingAsksBeforeEveryDeletion: of a lease that is lost between two
// deletions the second one is not made.
func TestHoldingAsksBeforeEveryDeletion(t *testing.T) {
	cluster := kubetest.Cluster()
	c, api := kubetest.New(t, interceptor.Funcs{})
	everything(t, c, cluster)
	asked := 0
	held := c.CheckBeforeDelete(func(context.Context) error {
		if asked++; asked > 2 {
			return lease.ErrLost
		}
		return nil
	})
	if err := workload.DeleteClusterObjects(t.Context(), held, cluster); !errors.Is(err, lease.ErrLost) || asked != 3 {
		t.Errorf("%v after %d questions", err, asked)
	}
	left := &corev1.SecretList{}
	if err := api.List(t.Context(), left, client.InNamespace("shop")); err != nil || len(left.Items) == 0 {
		t.Errorf("%d secrets are left, %v", len(left.Items), err)
	}
}

// TestDeletesSpareASuccessor: what was observed is gone, and another object has its name.
func TestDeletesSpareASuccessor(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "shop", Name: "db-1", UID: "successor",
		Labels: kube.MemberLabels(kubetest.Cluster(), "db-1")}
	c, api := kubetest.New(t, interceptor.Funcs{Delete: func(ctx context.Context, w client.WithWatch, o client.Object,
		opts ...client.DeleteOption) error {
		d := client.DeleteOptions{}
		d.ApplyOptions(opts)
		if d.Preconditions == nil || d.Preconditions.UID == nil || *d.Preconditions.UID == "successor" {
			return w.Delete(ctx, o, opts...)
		}
		return apierrors.NewConflict(schema.GroupResource{}, o.GetName(),
			errors.New("the UID in the precondition does not "+
				"match"))
	}}, &corev1.PersistentVolumeClaim{ObjectMeta: meta}, &appsv1.StatefulSet{ObjectMeta: meta})
	if err := errors.Join(workload.Delete(t.Context(), c, "shop", "db-1", "former"), workload.DeleteVolume(t.Context(), c,
		"shop", v1alpha1.VolumeName("db-1"), "former")); err != nil {
		t.Errorf("what was observed is gone, which was wanted: %v", err)
	}
	for _, o := range []client.Object{&corev1.PersistentVolumeClaim{}, &appsv1.StatefulSet{}} {
		if err := api.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "db-1"}, o); err != nil {
			t.Errorf("the successor was deleted: %v", err)
		}
	}
}
