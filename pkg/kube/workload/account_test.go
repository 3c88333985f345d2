package workload

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
)

func direct() *v1alpha1.DatabaseCluster {
	c := kubetest.Cluster()
	c.Spec.Routing = v1alpha1.RoutingDirect
	return c
}

// TestBuildAccount: agents that lead clients may change one service.
func TestBuildAccount(t *testing.T) {
	t.Parallel()
	if made := BuildAccount(kubetest.Cluster()); len(made) > 0 {
		t.Errorf("agents that pass clients on have %v", made)
	}
	kubetest.Golden(t, "account", BuildAccount(direct()))
	made := BuildServices(direct(), []corev1.ServicePort{{Name: "client", Port: 6379}})
	if s := made[1].Spec; s.Selector != nil || !s.PublishNotReadyAddresses || made[0].Spec.Selector == nil {
		t.Errorf("the services select %v and %v", made[0].Spec.Selector, s.Selector)
	}
}

// TestApplyAccount: services and account are made, what an agent wrote stays, what somebody changed is told and put
// back, and all goes with the cluster.
func TestApplyAccount(t *testing.T) {
	t.Parallel()
	c, api := kubetest.New(t, interceptor.Funcs{})
	ports := []corev1.ServicePort{{Name: "client", Port: 6379}}
	apply := func() {
		t.Helper()
		if err := ApplyServices(t.Context(), c, direct(), ports); err != nil {
			t.Fatal(err)
		}
	}
	differs := func(want ...string) {
		t.Helper()
		_, all, err := AccountDifferences(t.Context(), c, direct())
		var got []string
		for _, d := range all {
			got = append(got, d.Object+" "+string(d.Kind))
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v\n%s", err, diff)
		}
	}
	apply()
	differs()
	key := client.ObjectKey{Namespace: "shop", Name: "db-client"}
	s := &corev1.Service{}
	if err := api.Get(t.Context(), key, s); err != nil {
		t.Fatal(err)
	}
	made, account := metav1.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC), &corev1.ServiceAccount{}
	if err := api.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "db-agents"}, account); err != nil {
		t.Fatal(err)
	}
	account.CreationTimestamp = made
	if err := api.Update(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	if since, _, err := AccountDifferences(t.Context(), c, direct()); err != nil || !since.Equal(made.Time) {
		t.Errorf("there is an account since %s, %v", since, err)
	}
	s.Spec.Selector = map[string]string{"member": "db-1"}
	if err := api.Update(t.Context(), s, client.FieldOwner("dbop-agent")); err != nil {
		t.Fatal(err)
	}
	if err := api.Delete(t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop",
		Name: "db-agents"}}); err != nil {
		t.Fatal(err)
	}
	differs("rolebinding/db-agents Missing")
	apply()
	differs()
	if err := api.Get(t.Context(), key, s); err != nil || s.Spec.Selector["member"] != "db-1" {
		t.Errorf("the service selects %v, %v", s.Spec.Selector, err)
	}
	if err := DeleteClusterObjects(t.Context(), c, direct()); err != nil {
		t.Fatal(err)
	}
	for _, o := range BuildAccount(direct()) {
		if _, err := c.Metadata(t.Context(), o); !errors.Is(err, kube.ErrNotFound) {
			t.Errorf("%T is there: %v", o, err)
		}
	}
}
