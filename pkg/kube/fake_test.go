package kube

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// newFake returns a Client over a fake API server, and the server's own view.
func newFake(t *testing.T, funcs interceptor.Funcs, objects ...client.Object) (*Client, client.WithWatch) {
	t.Helper()
	scheme, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource().
		WithIndex(&corev1.Event{}, "involvedObject.name", func(o client.Object) []string { return []string{o.(*corev1.Event).InvolvedObject.Name} }).
		Build()
	return Wrap(interceptor.NewClient(api, funcs), Options{}), api
}

// testCluster is a stored cluster of three members that has formed.
func testCluster() *v1alpha1.DatabaseCluster {
	class := "fast"
	return &v1alpha1.DatabaseCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "db", Namespace: "shop", UID: "cluster-uid"},
		Spec: v1alpha1.DatabaseClusterSpec{
			Engine: "etcd", Version: "3.6.16", Members: 3,
			Storage:   v1alpha1.Storage{Size: resource.MustParse("10Gi"), ClassName: &class},
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")}},
		},
		Status: v1alpha1.DatabaseClusterStatus{ID: "c1", Formation: &v1alpha1.Formation{Token: "token-1", Members: []string{"db-1"}, ClusterID: "cid"}},
	}
}
