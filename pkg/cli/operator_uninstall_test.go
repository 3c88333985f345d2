package cli

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/runner"
)

// releaser notes which clusters were released, and how many objects there were then.
type releaser struct {
	handover
	site     *fakeSite
	released []string
	objects  int
	err      error
}

func (r *releaser) Release(_ context.Context, _ runner.Customs, namespace, name string) error {
	r.released, r.objects = append(r.released, namespace+"/"+name), len(r.site.objects)
	return r.err
}

// TestOperatorUninstall: it asks, says what happens, and releases every cluster
// before a definition is deleted.
func TestOperatorUninstall(t *testing.T) {
	b := newBench(t)
	site := &fakeSite{objects: map[string]*unstructured.Unstructured{}}
	b.installer = site
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
	r := &releaser{site: site}
	b.handover = func(engine.Engine) (handover, runner.Customs, error) { return r, nil, nil }
	is := func(code int, out, errs string, args ...string) {
		t.Helper()
		if got := b.run(append([]string{"operator"}, args...)...); got.code != code || !strings.Contains(got.out, out) || !strings.Contains(got.err, errs) {
			t.Errorf("%v: exit %d\n%s%s", args, got.code, got.out, got.err)
		}
	}
	is(ExitDone, "operator unchanged: nothing of it is in namespace dbop-system", "", "uninstall", "--yes")
	is(ExitDone, "operator installed", "", "install", "--image", "tool:v0.2.0")
	all := len(site.objects)
	mirrored := b.run("operator", "install", "--image", "ghcr.io/dbop-dev/kubectl-dbop:v0.2.0", "--registry", "mirror.local:5000", "--dry-run=client")
	if !strings.Contains(mirrored.out, "image: mirror.local:5000/dbop-dev/kubectl-dbop:v0.2.0") {
		t.Errorf("the mirror is not used:\n%s", mirrored.out)
	}
	is(ExitUsage, "", "repeat with --yes", "uninstall")
	is(ExitDone, "shop/my-db released (dry run)\n", "", "uninstall", "--definitions", "--dry-run=client")
	is(ExitDone, "CustomResourceDefinition/databaseclusters.dbop.dev deleted (dry run)", "", "uninstall", "--definitions", "--dry-run=client")
	if len(site.objects) != all || len(r.released) > 0 {
		t.Errorf("a dry run deleted %d objects and released %v", all-len(site.objects), r.released)
	}
	b.tty, b.in = true, strings.NewReader("n\n")
	is(ExitFailed, "", "shop/my-db, which keeps running", "uninstall", "--definitions")
	b.tty = false
	r.err = &ops.Error{Kind: ops.Busy, Message: "ada has it"}
	is(ExitBusy, "", "release shop/my-db, before the definitions are deleted", "uninstall", "--definitions", "--yes")
	if len(site.objects) != all {
		t.Errorf("%d objects were deleted although a cluster could not be released", all-len(site.objects))
	}
	r.released, r.err = nil, nil
	is(ExitDone, "shop/my-db released\noperator uninstalled", "", "uninstall", "--definitions", "--yes")
	if len(r.released) != 1 || r.objects != all {
		t.Errorf("released %v while %d of %d objects were there", r.released, r.objects, all)
	}
	is(ExitDone, "operator installed", "", "install", "--image", "tool:v0.2.0")
	is(ExitDone, "operator uninstalled", "1 databases keep running", "uninstall", "--yes")
}
