package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

func TestSuccessor(t *testing.T) {
	t.Parallel()
	of := &v1alpha1.DatabaseCluster{Spec: v1alpha1.DatabaseClusterSpec{Engine: "postgres", Version: "17.12", Members: 3,
		Image: "own", Config: map[string]string{"wal_level": "logical"}, Paused: true, Waive: []string{"size"},
		Storage:     v1alpha1.Storage{Size: resource.MustParse("5Gi")},
		RestoreFrom: &v1alpha1.RestoreSource{Backup: "b"}, DeletionPolicy: v1alpha1.DeletionPurge, Successor: "next",
		InitialSQL: &v1alpha1.InitialSQL{Secret: "sql"}}}
	of.Name, of.Namespace, of.Status.ID = "my-db", "shop", "id"
	got := Successor(of, "next")
	want := v1alpha1.DatabaseClusterSpec{Engine: "postgres", Version: "17.12", Members: 3,
		Config: map[string]string{"wal_level": "logical"}, Storage: v1alpha1.Storage{Size: resource.MustParse("5Gi")},
		Source: &v1alpha1.Source{Cluster: "my-db"}}
	diff := cmp.Diff(want, got.Spec)
	if diff != "" || got.Name != "next" || got.Namespace != "shop" || got.Status.ID != "" {
		t.Errorf("%s/%s %+v: %s", got.Namespace, got.Name, got.Status, diff)
	}
	got.Spec.Config["wal_level"] = "replica"
	if of.Spec.Config["wal_level"] != "logical" {
		t.Error("the former cluster changed")
	}
}
