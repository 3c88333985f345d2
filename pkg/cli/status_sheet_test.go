package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// TestStatusTellsDrift: members that another version rendered are named with
// what changes that, but not while an operation is about to.
func TestStatusTellsDrift(t *testing.T) {
	t.Parallel()
	c := &v1alpha1.DatabaseCluster{}
	c.Name, c.Spec.Version = "my-db", "1.0.0"
	s := ops.State{Cluster: c, Rendering: "new", Kube: kube.Facts{Members: []kube.Member{
		{Name: "my-db-1", Workload: kube.Workload{Exists: true, Version: "1.0.0", Rendering: "old"}},
		{Name: "my-db-2", Workload: kube.Workload{Exists: true, Version: "1.0.0", Rendering: "new"}}}}}
	says := func() bool {
		var out bytes.Buffer
		if err := newStatusSheet(opstest.Engine{}, s).print(&out, palette{}, noon, newTables()); err != nil {
			t.Fatal(err)
		}
		return strings.Contains(out.String(), "Rendered otherwise:     my-db-1; kubectl dbop restart my-db renders them as this version does\n")
	}
	if !says() {
		t.Error("it is not told")
	}
	s.Operation = &v1alpha1.Operation{}
	if says() {
		t.Error("it is told of a cluster that is changing")
	}
}
