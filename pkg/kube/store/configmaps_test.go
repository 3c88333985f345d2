package store

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
)

func TestClusterRoundTrip(t *testing.T) {
	c, api := kubetest.New(t, interceptor.Funcs{})
	s := NewConfigMaps(c)
	want := kubetest.Cluster()
	want.UID, want.Labels, want.Annotations = "", map[string]string{"team": "blue"}, map[string]string{"note": "mine"}
	if err := s.CreateCluster(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	if want.ResourceVersion == "" || want.Generation != 1 {
		t.Errorf("created with resource version %q, generation %d", want.ResourceVersion, want.Generation)
	}
	got, err := s.GetCluster(t.Context(), "shop", "db")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cluster (-want +got):\n%s", diff)
	}
	m := &corev1.ConfigMap{}
	if err := api.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: v1alpha1.Record("db")}, m); err != nil {
		t.Fatal(err)
	}
	wantLabels := map[string]string{
		"team": "blue", "dbop.dev/kind": "cluster", "dbop.dev/cluster": "db", "dbop.dev/engine": "etcd",
		"app.kubernetes.io/name": "etcd", "app.kubernetes.io/instance": "db", "app.kubernetes.io/version": "3.6.16",
		"app.kubernetes.io/component": "record", "app.kubernetes.io/managed-by": "kubectl-dbop",
	}
	if diff := cmp.Diff(wantLabels, m.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if err := s.CreateCluster(t.Context(), kubetest.Cluster()); !errors.Is(err, kube.ErrExists) {
		t.Errorf("second create: %v, want ErrExists", err)
	}
}

func TestUpdateClusterCountsGenerations(t *testing.T) {
	c, _ := kubetest.New(t, interceptor.Funcs{})
	s := NewConfigMaps(c)
	o := kubetest.Cluster()
	o.UID = ""
	if err := s.CreateCluster(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	steps := []struct {
		name   string
		change func()
		want   int64
	}{
		{"status alone", func() { o.Status.Bootstrap.ClusterID = "other" }, 1},
		{"another spelling of a quantity", func() { o.Spec.Storage.Size = resource.MustParse("10240Mi") }, 1},
		{"the wanted state", func() { o.Spec.Members = 5 }, 2},
		{"a generation that the caller made up", func() { o.Generation = 99 }, 2},
	}
	for _, step := range steps {
		step.change()
		if err := s.UpdateCluster(t.Context(), o); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if o.Generation != step.want {
			t.Errorf("%s: generation %d, want %d", step.name, o.Generation, step.want)
		}
	}
}

func TestStaleWritesAreRefused(t *testing.T) {
	c, _ := kubetest.New(t, interceptor.Funcs{})
	s := NewConfigMaps(c)
	o := kubetest.Cluster()
	o.UID = ""
	if err := s.CreateCluster(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	stale := o.DeepCopy()
	o.Spec.Members = 5
	if err := s.UpdateCluster(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if err := s.UpdateCluster(t.Context(), stale); !errors.Is(err, kube.ErrConflict) {
		t.Errorf("update: %v, want ErrConflict", err)
	}
	if err := s.DeleteCluster(t.Context(), stale); !errors.Is(err, kube.ErrConflict) {
		t.Errorf("delete: %v, want ErrConflict", err)
	}
	if err := s.DeleteCluster(t.Context(), o); err != nil {
		t.Errorf("delete: %v", err)
	}
	if _, err := s.GetCluster(t.Context(), "shop", "db"); !errors.Is(err, kube.ErrNotFound) {
		t.Errorf("after delete: %v, want ErrNotFound", err)
	}
}

func TestForeignConfigMapIsNoCluster(t *testing.T) {
	c, _ := kubetest.New(t, interceptor.Funcs{}, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop",
		Name: v1alpha1.Record("db")}})
	if _, err := NewConfigMaps(c).GetCluster(t.Context(), "shop", "db"); !errors.Is(err, kube.ErrForeign) {
		t.Errorf("got %v, want ErrForeign", err)
	}
}

func TestListClusters(t *testing.T) {
	c, _ := kubetest.New(t, interceptor.Funcs{})
	s := NewConfigMaps(c)
	for _, key := range []string{"b/z", "b/a", "a/m"} {
		o := kubetest.Cluster()
		o.UID = ""
		o.Namespace, o.Name, _ = strings.Cut(key, "/")
		o.Labels = map[string]string{"tier": o.Namespace}
		if err := s.CreateCluster(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ namespace, selector, want string }{
		{"", "", "a/m b/a b/z"}, {"b", "", "b/a b/z"}, {"", "tier=a", "a/m"}, {"", "dbop.dev/engine in (etcd)",
			"a/m b/a b/z"}, {"c", "", ""},
	} {
		all, err := s.ListClusters(t.Context(), tt.namespace, tt.selector)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range all {
			got = append(got, o.Namespace+"/"+o.Name)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("list %q %q: %v, want %s", tt.namespace, tt.selector, got, tt.want)
		}
	}
	if _, err := s.ListClusters(t.Context(), "", "=="); err == nil {
		t.Error("a malformed selector is accepted")
	}
}
