package cli

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/runner"
)

// customs is one custom resource, and whether its operator is alive.
type customs struct {
	runner.Customs
	custom *v1alpha1.DatabaseCluster
	alive  bool
	err    error
}

func (c customs) GetCustom(context.Context, string, string) (*v1alpha1.DatabaseCluster, error) {
	return c.custom, c.err
}

func (c customs) OperatorAlive(context.Context, string, string) (bool, error) { return c.alive, nil }

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
		customs customs
		want    string
	}{
		{customs{custom: operated, alive: true}, "databasecluster/my-db, operated by dbop-system/kubectl-dbop-operator"},
		{customs{custom: operated}, "is not alive; commands act themselves"},
		{customs{custom: &v1alpha1.DatabaseCluster{}}, "which no operator has taken notice of"},
		{customs{err: errors.New("no such right")}, "whose operator is unknown: no such right"},
	} {
		b.customs = row.customs
		if r := b.run("status", "my-db"); r.code != ExitDone || !strings.Contains(r.out, "Custom resource:        databasecluster/my-db") || !strings.Contains(r.out, row.want) {
			t.Errorf("want %q, exit %d\n%s%s", row.want, r.code, r.out, r.err)
		}
	}
	b.customs = customs{err: kube.ErrNotFound}
	r := b.run("status", "my-db")
	for _, want := range []string{"databasecluster/my-db is missing", "databasecluster my-db is missing", "kubectl dbop -n shop operator release my-db"} {
		if r.code != ExitDegraded || !strings.Contains(r.out, want) {
			t.Errorf("want %q, exit %d\n%s%s", want, r.code, r.out, r.err)
		}
	}
	b.pods.add("my-db", "my-db-1", "my-db-2", "my-db-3")
	if r := b.run("list"); r.code != ExitDone || !strings.Contains(r.out, "Degraded") ||
		!strings.Contains(r.err, "databasecluster my-db is missing, and no operator acts on its cluster: kubectl dbop -n shop status my-db") {
		t.Errorf("list: exit %d\n%s%s", r.code, r.out, r.err)
	}
	b.customs = customs{err: errors.New("no such right")}
	if r := b.run("status", "my-db", "-o", "json"); !strings.Contains(r.out, `"unknown": "no such right"`) {
		t.Errorf("%s", r.out)
	}
}
