package diagnostics_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/version"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/diagnostics"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/preflight"
)

// checked runs check with a server of a minor that fits.
func checked(b *clitest.Bench, args ...string) clitest.Result {
	b.T.Helper()
	b.Server = &version.Info{Major: "1", Minor: printer.Itoa(diagnostics.BuiltFor),
		GitVersion: "v1." + printer.Itoa(diagnostics.BuiltFor) + ".0"}
	return b.Run(append([]string{"check"}, args...)...)
}

func TestCheckSaysWhatIsMissing(t *testing.T) {
	b := clitest.New(t)
	if r := checked(b); r.Code != exit.Done || !strings.Contains(r.Out, "\n0 failed, 0 warnings, ") {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	b.Site.Namespace.Exists = false
	b.Site.Classes = preflight.Classes{Unknown: "you may not list storageclasses.storage.k8s.io"}
	b.Site.Missing = []preflight.Right{{Verb: "create", Group: "apps", Resource: "statefulsets", Role: "dbop-operate"},
		{Verb: "create", Resource: "secrets", Role: "dbop-operate"}}
	b.Golden("check", checked(b, "--repository", "pvc:backups"))
	if r := checked(b, "-o", "json"); r.Code != exit.Degraded || !strings.Contains(r.Out, `"kind": "Check"`) ||
		!strings.Contains(r.Out, `"severity": "FAIL"`) {
		t.Errorf("exit %d\n%s", r.Code, r.Out)
	}
	if len(b.Writes) > 0 {
		t.Errorf("it wrote: %v", b.Writes)
	}
}

func TestCheckDiagnosesTheNamedCluster(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	if r := checked(b, "my-db"); r.Code != exit.Done || !strings.Contains(r.Out, "member my-db-1") {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	b.Cluster.Facts.Foreign = []string{"service/my-db"}
	if r := checked(b, "my-db"); r.Code != exit.Degraded {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
}

func TestCheckWithoutAServer(t *testing.T) {
	b := clitest.New(t)
	b.ServerErr = &kube.UnreachableError{Server: "https://k8s", Err: errors.New("connection refused")}
	r := b.Run("check", "my-db")
	if r.Code != exit.Degraded || !strings.Contains(r.Out, "can't be reached") ||
		!strings.Contains(r.Out, "do:   check the address") || strings.Contains(r.Out, "rights") {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
}

func TestCheckLeavesNothingInTheRepository(t *testing.T) {
	b := clitest.New(t)
	dir := filepath.Join(b.Dir, "deep", "backups")
	if r := checked(b, "--repository", "dir:"+dir); r.Code != exit.Done || !strings.Contains(r.Out, "can be written") {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	entries, err := os.ReadDir(b.Dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left %v, %v", entries, err)
	}
	if r := checked(b, "--repository", "dir:"+filepath.Join(b.Dir, "kubeconfig")); r.Code != exit.Degraded ||
		!strings.Contains(r.Out, "is not a directory") {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
}

func TestCheckWarnsOfAHiddenPlugin(t *testing.T) {
	b := clitest.New(t)
	var dirs []string
	for range 2 {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "kubectl-dbop"), nil, 0o700); err != nil { // #nosec G306 -- a program
			t.Fatal(err)
		}
		dirs = append(dirs, dir)
	}
	b.Env["PATH"] = strings.Join(dirs, string(filepath.ListSeparator))
	if r := checked(b); r.Code != exit.Done || !strings.Contains(r.Out, "runs "+filepath.Join(dirs[0], "kubectl-dbop")) {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
}
