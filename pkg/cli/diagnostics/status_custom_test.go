package diagnostics_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

func TestStatusNamesWhoOperates(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	if r := b.Run("status", "my-db"); strings.Contains(r.Out, "Custom resource") {
		t.Errorf("a cluster of the command line's is under a custom resource:\n%s", r.Out)
	}
	store := b.Records(kube.DryRunNone)
	c, err := store.GetCluster(t.Context(), "shop", "my-db")
	if err != nil {
		t.Fatal(err)
	}
	c.Annotations = map[string]string{v1alpha1.AnnotationCustom: "one"}
	if err := store.UpdateCluster(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	operated := &v1alpha1.DatabaseCluster{}
	operated.Status.Operator = "dbop-system/kubectl-dbop-operator"
	for _, row := range []struct {
		custom *v1alpha1.DatabaseCluster
		alive  bool
		err    error
		want   string
	}{
		{operated, true, nil, "databasecluster/my-db, operated by dbop-system/kubectl-dbop-operator"},
		{operated, false, nil, "is not alive; commands act themselves"},
		{&v1alpha1.DatabaseCluster{}, false, nil, "which no operator has taken notice of"},
		{nil, false, errors.New("no such right"), "whose operator is unknown: no such right"},
	} {
		b.CustomResource, b.Alive, b.CustomErr = row.custom, row.alive, row.err
		if r := b.Run("status", "my-db"); r.Code != exit.Done ||
			!strings.Contains(r.Out, "Custom resource:        databasecluster/my-db") || !strings.Contains(r.Out, row.want) {
			t.Errorf("want %q, exit %d\n%s%s", row.want, r.Code, r.Out, r.Err)
		}
	}
	b.CustomResource, b.CustomErr = nil, kube.ErrNotFound
	r := b.Run("status", "my-db")
	for _, want := range []string{"databasecluster/my-db is missing", "databasecluster my-db is missing",
		"kubectl dbop -n shop operator release my-db"} {
		if r.Code != exit.Degraded || !strings.Contains(r.Out, want) {
			t.Errorf("want %q, exit %d\n%s%s", want, r.Code, r.Out, r.Err)
		}
	}
	b.AddPods("my-db", "my-db-1", "my-db-2", "my-db-3")
	if r := b.Run("list"); r.Code != exit.Done || !strings.Contains(r.Out, "Degraded") ||
		!strings.Contains(r.Err,
			"databasecluster my-db is missing, and no operator acts on its cluster: kubectl dbop -n shop status my-db") {
		t.Errorf("list: exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	b.CustomErr = errors.New("no such right")
	if r := b.Run("status", "my-db", "-o", "json"); !strings.Contains(r.Out, `"unknown": "no such right"`) {
		t.Errorf("%s", r.Out)
	}
}

// TestStatusOfADeletedObject: a custom resource that its operator saw being deleted is not told as missing.
func TestStatusOfADeletedObject(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	store := b.Records(kube.DryRunNone)
	c, err := store.GetCluster(t.Context(), "shop", "my-db")
	if err != nil {
		t.Fatal(err)
	}
	c.Annotations = map[string]string{v1alpha1.AnnotationCustom: "one"}
	c.Status.Deletion = &v1alpha1.Deletion{Object: "one", Record: c.UID}
	if err := store.UpdateCluster(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	b.CustomErr = kube.ErrNotFound
	r := b.Run("status", "my-db")
	if r.Code != exit.Done || strings.Contains(r.Out, "missing") ||
		!strings.Contains(r.Out, "databasecluster/my-db was deleted, and its operator ends the database") {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	c.Status.Deletion.Object = "another"
	if err := store.UpdateCluster(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if r := b.Run("status", "my-db"); r.Code != exit.Degraded || !strings.Contains(r.Out, "is missing") {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
}
