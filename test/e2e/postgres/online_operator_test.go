//go:build e2e

package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// onlineWanted are the objects of a cluster, and of one that is a copy of it.
const (
	onlineWanted = `
apiVersion: dbop.dev/v1alpha1
kind: DatabaseCluster
metadata: {name: db}
spec:
  engine: postgres
  version: %q
  image: %s
  members: 1
  storage: {size: 1Gi}
  config: {wal_level: logical}
`
	onlineCopy = `
apiVersion: dbop.dev/v1alpha1
kind: DatabaseCluster
metadata: {name: db-v18}
spec:
  engine: postgres
  version: %q
  image: %s
  members: 1
  storage: {size: 1Gi}
  config: {wal_level: logical}
  deletionPolicy: Purge
  source: {cluster: db}
`
)

// TestUpgradeOnlineOperator moves a cluster that an operator has to the next major version and back, twice: to a copy
// that an object asks for, and to one that the command makes. An application writes all the time. The operator dies
// while the copy takes over.
func TestUpgradeOnlineOperator(t *testing.T) {
	if !torture.Full() {
		t.Skip("make torture ENGINE=postgres runs it")
	}
	s := newScene(t, "online-operator")
	from, to := s.releases(17)[0], s.releases(18)[0]
	s.must("operator", "install", "--operator-namespace", s.ns, "--watch", s.ns)
	object := func(text string, r harness.PostgresRelease) {
		t.Helper()
		manifest := filepath.Join(t.TempDir(), "object.yaml")
		s.ok(os.WriteFile(manifest, fmt.Appendf(nil, text, r.Version, r.Image), 0o600))
		s.kubectl("apply", "-f", manifest)
	}
	object(onlineWanted, from)
	s.ready()
	s.apply(from.Image)

	// Who may create an object does not get at the secrets of another cluster by it.
	object(onlineCopy, to)
	s.stalled("db-v18", `{"spec":{"successor":"db-v18"}}`)
	if pods := s.kubectl("get", "pods", "-l", "dbop.dev/cluster=db-v18", "-o", "name"); pods != "" {
		t.Errorf("there are %s", pods)
	}
	s.edit(`{"successor": "db-v18"}`)
	s.follows("db-v18")
	s.edit(`{"redirectTo": "db-v18"}`)
	s.stalled("db", "and takes no writes")
	s.edit(`{"redirectTo": null}`)
	s.ready()

	upgrade := []string{"upgrade", "db", "--online", "--version", to.Version, "--image", to.Image, "--yes"}
	done := make(chan harness.Result, 1)
	go func() {
		r, err := s.cli.Run(s.ctx, append([]string{"-n", s.ns}, upgrade...)...)
		if err != nil {
			r.Stderr += err.Error()
		}
		done <- r
	}()
	s.ok(harness.Until(s.ctx, time.Minute, "the copy to take over", func(context.Context) error {
		if found := s.kubectl("get", "configmaps", "-l", "dbop.dev/kind=operation,dbop.dev/cluster=db-v18", "-o",
			"yaml"); !strings.Contains(found, `"verb":"cutover"`) {
			return errors.New("no operation does")
		}
		return nil
	}))
	s.kubectl("delete", "pods", "-l", "app.kubernetes.io/component=operator", "--grace-period=0", "--force")
	if r := <-done; r.Code != 0 {
		t.Fatalf("expected success:\n%s", r)
	}
	t.Logf("an operator died meanwhile: nobody could write for %s", s.movedTo(18, "db-v18"))
	s.ready()

	back := []string{"upgrade", "db", "--online", "--back", "--into", "db-v18", "--yes"}
	s.must(back...)
	s.moved(17, "db")
	s.ready()
	s.kubectl("delete", "dbc", "db-v18")
	s.gone("db-v18")

	s.must(upgrade...)
	s.moved(18, "db-v18")
	s.kubectl("wait", "--for=condition=Ready", "dbc/db-v18", "--timeout=60s")
	s.edit(`{"redirectTo": null}`)
	s.stalled("db", "--back")
	s.edit(`{"redirectTo": "db-v18"}`)
	s.must("upgrade", "db", "--online", "--finish", "--into", "db-v18", "--yes")
	if got := s.kubectl("get", "dbc", "db", "-o", "jsonpath={.spec.stopped} {.spec.redirectTo}"); got != "true db-v18" {
		t.Errorf("the object of the former cluster says %q", got)
	}
	s.kubectl("delete", "dbc", "db")
	s.gone("db")
}

// stalled waits until an object says that nothing can be done, and why.
func (s *scene) stalled(name, why string) {
	s.Helper()
	s.ok(harness.Until(s.ctx, time.Minute, name+" to be stalled", func(context.Context) error {
		got := s.kubectl("get", "dbc", name, "-o", `jsonpath={.status.conditions[?(@.type=="Stalled")]}`)
		if !strings.Contains(got, `"status":"True"`) || !strings.Contains(strings.ReplaceAll(got, `\"`, `"`), why) {
			return fmt.Errorf("it says %s", got)
		}
		return nil
	}))
}

// follows waits until a cluster is a copy that follows.
func (s *scene) follows(name string) {
	s.Helper()
	s.ok(harness.Until(s.ctx, 4*time.Minute, name+" to follow", func(context.Context) error {
		if r := s.try("status", name); r.Code != 0 || !strings.Contains(r.Stdout, "it takes no writes") {
			return fmt.Errorf("%s", r)
		}
		return nil
	}))
}

// gone waits until nothing is left of a cluster that runs.
func (s *scene) gone(name string) {
	s.Helper()
	s.ok(harness.Until(s.ctx, time.Minute, name+" to be gone", func(context.Context) error {
		if left := s.kubectl("get", "pods,services,configmaps", "-l", "dbop.dev/cluster="+name+",dbop.dev/kind!=operation",
			"-o", "name"); left != "" {
			return fmt.Errorf("left %s", left)
		}
		return nil
	}))
}
