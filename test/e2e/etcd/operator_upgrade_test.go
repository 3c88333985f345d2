//go:build e2e

package etcd

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// TestOperatorUpgraded: an operator of the previous commit, which manages
// clusters, gives way to this one. No pod of a database restarts.
func TestOperatorUpgraded(t *testing.T) {
	s := newScene(t, "opup")
	machine, err := s.site.Machine()
	if err != nil {
		t.Skip(err)
	}
	n := 2
	if torture.Full() {
		n = 10
	}
	former := s.former(machine)
	old := s.cli
	old.Path, old.Env = former.path, maps.Clone(s.cli.Env)
	old.Env["DBOP_HELPER_IMAGE"] = former.image
	place := []string{"--operator-namespace", s.ns}
	if r := s.with(old, append([]string{"operator", "install", "--watch", s.ns}, place...)...); r.Code != 0 {
		t.Fatal(r)
	}
	c := s.custom()
	for i := range n {
		c.wanted(s.ns, fmt.Sprintf("db%d", i), 1)
	}
	pods := map[string]string{}
	for i := range n {
		c.ready(fmt.Sprintf("db%d", i), 1)
		maps.Copy(pods, s.databasePods(fmt.Sprintf("db%d", i)))
	}

	r := s.must(append([]string{"operator", "upgrade", "--dry-run=client"}, place...)...)
	s.tells(r, "deployment/dbop-operator changes", "No pod of a database restarts")
	s.must(append([]string{"operator", "upgrade"}, place...)...)
	if r := s.must(append([]string{"operator", "upgrade"}, place...)...); r.Stdout != "operator unchanged\n" {
		t.Errorf("the second time it says:\n%s", r)
	}
	// It is this one that acts now, and it restarts what it is asked to, alone.
	s.must("restart", "db0", "--allow-downtime")
	after := map[string]string{}
	for i := range n {
		c.ready(fmt.Sprintf("db%d", i), 1)
		maps.Copy(after, s.databasePods(fmt.Sprintf("db%d", i)))
	}
	for pod, uid := range pods {
		if asked := pod == "db0-1-0"; asked == (after[pod] == uid) {
			t.Errorf("pod %s was %s and is %s", pod, uid, after[pod])
		}
	}
	c.driftsUntilAsked(pods)
}

// driftsUntilAsked: what another version rendered is told, and stays until a restart is asked for.
func (c *custom) driftsUntilAsked(pods map[string]string) {
	c.Helper()
	c.kubectl("annotated", "annotate", "statefulset", "db1-1", "dbop.dev/rendering=of-another-version", "--overwrite")
	c.kubectl("condition met", "wait", "--for=condition=Drifted", "dbc/db1", "--timeout=60s")
	c.says(c.must("status", "db1"), "Rendered otherwise:     db1-1; kubectl dbop -n "+c.ns+" restart db1")
	c.says(c.must("plan", "restart", "db1", "--allow-downtime"),
		"its template is renewed: this version renders it differently")
	c.ready("db1", 1)
	if now := c.databasePods("db1"); now["db1-1-0"] != pods["db1-1-0"] {
		c.Errorf("a pod restarted unasked: %v", now)
	}
	c.must("restart", "db1", "--allow-downtime")
	c.ready("db1", 1)
	if r := c.must("status", "db1"); strings.Contains(r.Stdout, "Rendered otherwise") {
		c.Errorf("it is not as this version renders it:\n%s", r)
	}
	c.ok(harness.Until(c.ctx, readyWithin, "db1 to be told no more", func(context.Context) error {
		if d := meta.FindStatusCondition(c.get("db1").Status.Conditions, "Drifted"); d != nil {
			return fmt.Errorf("it is: %s", d.Message)
		}
		return nil
	}))
}

// formerTool is the tool of the previous commit, with its image.
type formerTool struct{ path, image string }

// former builds the previous commit, if this is a repository that has one.
func (s *scene) former(machine *harness.Machine) formerTool {
	s.Helper()
	dir := filepath.Join(s.home, "former")
	run := func(program, at string, args ...string) harness.Result {
		if !filepath.IsAbs(program) {
			program = s.site.Tool(program, "").Path
		}
		r, err := harness.Command{Path: program, Dir: at, Env: map[string]string{"GOFLAGS": "-buildvcs=false",
			"CGO_ENABLED": "0"}}.Run(s.ctx, args...)
		s.ok(err)
		return r
	}
	if r := run("git", s.site.Root, "archive", "--output", dir+".tar", "HEAD~1"); r.Code != 0 {
		s.Skipf("the previous commit is not here, as in a shallow clone:\n%s", r)
	}
	s.ok(os.Mkdir(dir, 0o700))
	if r := run("tar", dir, "-xf", dir+".tar"); r.Code != 0 {
		s.Fatal(r)
	}
	out := formerTool{path: filepath.Join(s.home, "former-bin", "kubectl-dbop"), image: s.site.Env["DBOP_HELPER_IMAGE"] +
		"-former"}
	if r := run("go", dir, "build", "-trimpath", "-ldflags", "-s -w", "-o", out.path, "./cmd/kubectl-dbop"); r.Code != 0 {
		s.Fatalf("the previous commit does not build:\n%s", r)
	}
	if r := run(out.path, dir, "operator", "install", "--help"); r.Code != 0 || !strings.Contains(r.Stdout, "--watch") {
		s.Skip("the previous commit has no operator")
	}
	s.ok(machine.Cluster(s.ctx, "image", "--binary", out.path, "--name", out.image))
	return out
}
