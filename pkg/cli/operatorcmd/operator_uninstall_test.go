package operatorcmd_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// TestOperatorUninstall: it asks, says what happens, and releases every cluster
// before a definition is deleted.
func TestOperatorUninstall(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	b.CreateCluster("by-hand")
	store := b.Records(kube.DryRunNone)
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
		if got := b.Run(append([]string{"operator"}, args...)...); got.Code != code || !strings.Contains(got.Out, out) ||
			!strings.Contains(got.Err, errs) {
			t.Errorf("%v: exit %d\n%s%s", args, got.Code, got.Out, got.Err)
		}
	}
	is(exit.Done, "operator unchanged: nothing of it is in namespace dbop-system", "", "uninstall", "--yes")
	is(exit.Done, "operator installed", "", "install", "--image", "tool:v0.2.0")
	all := len(b.Objects)
	mirrored := b.Run("operator", "install", "--image", "ghcr.io/dbop-dev/kubectl-dbop:v0.2.0", "--registry",
		"mirror.local:5000", "--dry-run=client")
	if !strings.Contains(mirrored.Out, "image: mirror.local:5000/dbop-dev/kubectl-dbop:v0.2.0") {
		t.Errorf("the mirror is not used:\n%s", mirrored.Out)
	}
	is(exit.Usage, "", "repeat with --yes", "uninstall")
	is(exit.Done, "shop/my-db released (dry run)\n", "", "uninstall", "--definitions", "--dry-run=client")
	is(exit.Done, "CustomResourceDefinition/databaseclusters.dbop.dev deleted (dry run)", "", "uninstall",
		"--definitions", "--dry-run=client")
	if len(b.Objects) != all || len(b.Released) > 0 {
		t.Errorf("a dry run deleted %d objects and released %v", all-len(b.Objects), b.Released)
	}
	b.Tty, b.In = true, strings.NewReader("n\n")
	is(exit.Failed, "", "shop/my-db, which keeps running", "uninstall", "--definitions")
	b.Tty = false
	b.ReleaseErr = &ops.Error{Kind: ops.Busy, Message: "ada has it"}
	is(exit.Busy, "", "release shop/my-db, before the definitions are deleted", "uninstall", "--definitions", "--yes")
	if len(b.Objects) != all {
		t.Errorf("%d objects were deleted although a cluster could not be released", all-len(b.Objects))
	}
	b.Released, b.ReleaseErr = nil, nil
	is(exit.Done, "shop/my-db released\noperator uninstalled", "", "uninstall", "--definitions", "--yes")
	if want := fmt.Sprintf("shop/my-db with %d objects", all); len(b.Released) != 1 || b.Released[0] != want {
		t.Errorf("released %v, want %s", b.Released, want)
	}
	is(exit.Done, "operator installed", "", "install", "--image", "tool:v0.2.0")
	is(exit.Done, "operator uninstalled", "1 databases keep running", "uninstall", "--yes")
}
