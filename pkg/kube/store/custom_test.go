package store

import (
	"errors"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
)

// mirrored is a cluster under a custom resource, in both of which three members are wanted.
func mirrored(t *testing.T, linked bool) (*kube.Client, Mirrored, *v1alpha1.DatabaseCluster) {
	t.Helper()
	custom := &v1alpha1.DatabaseCluster{Spec: kubetest.Cluster().Spec}
	custom.Name, custom.Namespace, custom.UID = "db", "shop", "custom"
	custom.Spec.Members, custom.Status.Operator = 3, "system/heart"
	c, _ := kubetest.New(t, interceptor.Funcs{}, custom)
	o := kubetest.Cluster()
	o.UID, o.Spec.Members = "", 3
	if linked {
		o.Annotations = map[string]string{v1alpha1.AnnotationCustom: "custom"}
	}
	if err := NewConfigMaps(c).CreateCluster(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	return c, NewMirrored(c), o
}

// TestMirror: what the command line changes is changed where a person reads it,
// and what a person has just put there stays.
func TestMirror(t *testing.T) {
	t.Parallel()
	for _, linked := range []bool{true, false} {
		c, s, o := mirrored(t, linked)
		custom, err := (CustomResources{c}).GetCustom(t.Context(), "shop", "db")
		if err != nil {
			t.Fatal(err)
		}
		custom.Spec.Version = "3.7.3"
		if err := c.API.Update(t.Context(), custom); err != nil {
			t.Fatal(err)
		}
		o.Spec.Members = 5
		o.Spec.RestoreFrom = &v1alpha1.RestoreSource{Repository: "dir:/backups", Backup: "b"} // by a restore in place
		if err := s.UpdateCluster(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		custom, err = (CustomResources{c}).GetCustom(t.Context(), "shop", "db")
		want := int32(3)
		if linked {
			want = 5
		}
		if err != nil || custom.Spec.Members != want || custom.Spec.Version != "3.7.3" || custom.Spec.RestoreFrom != nil {
			t.Errorf("linked %t: %v, %+v", linked, err, custom.Spec)
		}
		if got, err := s.GetCluster(t.Context(), "shop", "db"); err != nil || got.Spec.Members != 5 ||
			got.Spec.Version == "3.7.3" {
			t.Errorf("record: %v, %+v", err, got)
		}
	}
}

// TestMirrorWithoutCustom: nobody is to be told where the object is gone.
func TestMirrorWithoutCustom(t *testing.T) {
	t.Parallel()
	c, s, o := mirrored(t, true)
	custom, err := (CustomResources{c}).GetCustom(t.Context(), "shop", "db")
	if err != nil || (CustomResources{c}).DeleteCustom(t.Context(), custom) != nil {
		t.Fatal(err)
	}
	o.Spec.Members = 5
	if err := s.UpdateCluster(t.Context(), o); err != nil {
		t.Error(err)
	}
	if _, err := (CustomResources{c}).GetCustom(t.Context(), "shop", "db"); !errors.Is(err, kube.ErrNotFound) {
		t.Error(err)
	}
}
