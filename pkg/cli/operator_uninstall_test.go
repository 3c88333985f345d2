package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// TestOperatorUninstall: it asks, says what happens, and releases every cluster
// before a definition is deleted.
func TestOperatorUninstall(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	b.cluster("by-hand")
	store := b.store(kube.DryRunNone)
	c, err := store.GetCluster(t.Context(), "shop", "my-db")
	if err != nil {
		t.Fatal(err)
	}
	c.Annotations = map[string]string{v1alpha1.AnnotationCustom: "one"}
	if err := store.UpdateCluster(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	is := func(code int, out, errs string, args ...string) {
		t.Helper()
		if got := b.run(append([]string{"operator"}, args...)...); got.code != code || !strings.Contains(got.out, out) || !strings.Contains(got.err, errs) {
			t.Errorf("%v: exit %d\n%s%s", args, got.code, got.out, got.err)
		}
	}
	is(ExitDone, "operator unchanged: nothing of it is in namespace dbop-system", "", "uninstall", "--yes")
	is(ExitDone, "operator installed", "", "install", "--image", "tool:v0.2.0")
	all := len(b.objects)
	mirrored := b.run("operator", "install", "--image", "ghcr.io/dbop-dev/kubectl-dbop:v0.2.0", "--registry", "mirror.local:5000", "--dry-run=client")
	if !strings.Contains(mirrored.out, "image: mirror.local:5000/dbop-dev/kubectl-dbop:v0.2.0") {
		t.Errorf("the mirror is not used:\n%s", mirrored.out)
	}
	is(ExitUsage, "", "repeat with --yes", "uninstall")
	is(ExitDone, "shop/my-db released (dry run)\n", "", "uninstall", "--definitions", "--dry-run=client")
	is(ExitDone, "CustomResourceDefinition/databaseclusters.dbop.dev deleted (dry run)", "", "uninstall", "--definitions", "--dry-run=client")
	if len(b.objects) != all || len(b.released) > 0 {
		t.Errorf("a dry run deleted %d objects and released %v", all-len(b.objects), b.released)
	}
	b.tty, b.in = true, strings.NewReader("n\n")
	is(ExitFailed, "", "shop/my-db, which keeps running", "uninstall", "--definitions")
	b.tty = false
	b.releaseErr = &ops.Error{Kind: ops.Busy, Message: "ada has it"}
	is(ExitBusy, "", "release shop/my-db, before the definitions are deleted", "uninstall", "--definitions", "--yes")
	if len(b.objects) != all {
		t.Errorf("%d objects were deleted although a cluster could not be released", all-len(b.objects))
	}
	b.released, b.releaseErr = nil, nil
	is(ExitDone, "shop/my-db released\noperator uninstalled", "", "uninstall", "--definitions", "--yes")
	if want := fmt.Sprintf("shop/my-db with %d objects", all); len(b.released) != 1 || b.released[0] != want {
		t.Errorf("released %v, want %s", b.released, want)
	}
	is(ExitDone, "operator installed", "", "install", "--image", "tool:v0.2.0")
	is(ExitDone, "operator uninstalled", "1 databases keep running", "uninstall", "--yes")
}
