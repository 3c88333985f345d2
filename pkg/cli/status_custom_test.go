package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

func TestStatusNamesWhoOperates(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	if r := b.run("status", "my-db"); strings.Contains(r.out, "Custom resource") {
		t.Errorf("a cluster of the command line's is under a custom resource:\n%s", r.out)
	}
	store := b.store(kube.DryRunNone)
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
		b.custom, b.alive, b.customErr = row.custom, row.alive, row.err
		if r := b.run("status", "my-db"); r.code != ExitDone || !strings.Contains(r.out, "Custom resource:        databasecluster/my-db") || !strings.Contains(r.out, row.want) {
			t.Errorf("want %q, exit %d\n%s%s", row.want, r.code, r.out, r.err)
		}
	}
	b.custom, b.customErr = nil, kube.ErrNotFound
	r := b.run("status", "my-db")
	for _, want := range []string{"databasecluster/my-db is missing", "databasecluster my-db is missing", "kubectl dbop -n shop operator release my-db"} {
		if r.code != ExitDegraded || !strings.Contains(r.out, want) {
			t.Errorf("want %q, exit %d\n%s%s", want, r.code, r.out, r.err)
		}
	}
	b.addPods("my-db", "my-db-1", "my-db-2", "my-db-3")
	if r := b.run("list"); r.code != ExitDone || !strings.Contains(r.out, "Degraded") ||
		!strings.Contains(r.err, "databasecluster my-db is missing, and no operator acts on its cluster: kubectl dbop -n shop status my-db") {
		t.Errorf("list: exit %d\n%s%s", r.code, r.out, r.err)
	}
	b.customErr = errors.New("no such right")
	if r := b.run("status", "my-db", "-o", "json"); !strings.Contains(r.out, `"unknown": "no such right"`) {
		t.Errorf("%s", r.out)
	}
}
