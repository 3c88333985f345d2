package store

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
)

func TestOperatorAlive(t *testing.T) {
	t.Parallel()
	heart := func(holder string, age time.Duration) *coordinationv1.Lease {
		renewed := metav1.NewMicroTime(time.Now().Add(-age))
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "heart"},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &renewed}}
	}
	for _, row := range []struct {
		name  string
		lease client.Object
		alive bool
	}{
		{"fresh", heart("pod", time.Second), true},
		{"old", heart("pod", time.Hour), false},
		{"given back", heart("", time.Second), false},
		{"none", nil, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			custom := &v1alpha1.DatabaseCluster{Spec: kubetest.Cluster().Spec}
			custom.Name, custom.Namespace, custom.Status.Operator = "db", "shop", "system/heart"
			c, _ := kubetest.New(t, interceptor.Funcs{}, custom)
			if row.lease != nil {
				if err := c.API.Create(t.Context(), row.lease); err != nil {
					t.Fatal(err)
				}
			}
			if alive, err := (CustomResources{c}).OperatorAlive(t.Context(), "shop", "db"); alive != row.alive || err != nil {
				t.Errorf("%t, %v", alive, err)
			}
		})
	}
	c, _ := kubetest.New(t, interceptor.Funcs{})
	if alive, err := (CustomResources{c}).OperatorAlive(t.Context(), "shop", "db"); alive || err != nil {
		t.Errorf("without an object: %t, %v", alive, err)
	}
}
