// Package kubetest is for tests of the packages below kube: a fake API server, a
// cluster, golden files.
package kubetest

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// New returns a Client over a fake API server, and the server's own view.
func New(t *testing.T, funcs interceptor.Funcs, objects ...client.Object) (*kube.Client, client.WithWatch) {
	t.Helper()
	scheme, err := kube.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource().
		WithIndex(&corev1.Event{}, "involvedObject.name",
			func(o client.Object) []string { return []string{o.(*corev1.Event).InvolvedObject.Name} }).
		Build()
	return kube.Wrap(interceptor.NewClient(api, funcs), kube.Options{}), api
}

// Cluster is a stored cluster of three members that has formed.
func Cluster() *v1alpha1.DatabaseCluster {
	class := "fast"
	return &v1alpha1.DatabaseCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "db", Namespace: "shop", UID: "cluster-uid"},
		Spec: v1alpha1.DatabaseClusterSpec{
			Engine: "etcd", Version: "3.6.16", Members: 3,
			Storage: v1alpha1.Storage{Size: resource.MustParse("10Gi"), ClassName: &class},
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(
				"256Mi")}},
		},
		Status: v1alpha1.DatabaseClusterStatus{ID: "c1", Bootstrap: &v1alpha1.Bootstrap{Token: "token-1",
			Members: []string{"db-1"}, ClusterID: "cid"}},
	}
}

// Noon is the present of tests.
func Noon() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

// EnginePod is what an engine renders for a member in tests.
func EnginePod() engine.Pod {
	return engine.Pod{
		Container: corev1.Container{Name: "etcd", Image: "example.com/etcd:v3.6.16", Command: []string{"etcd"},
			Args: []string{"--name=db-2"}},
		DataPath: "/var/lib/etcd", TLSPath: "/etc/etcd/tls", GraceSeconds: 60,
	}
}

// Secret reads a secret of namespace shop.
func Secret(t *testing.T, api client.Client, name string) *corev1.Secret {
	t.Helper()
	s := &corev1.Secret{}
	if err := api.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: name}, s); err != nil {
		t.Fatal(err)
	}
	return s
}
