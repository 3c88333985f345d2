//go:build e2e

package postgres

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// wanted is a cluster as a person asks an operator for it.
const wanted = `
apiVersion: dbop.dev/v1alpha1
kind: DatabaseCluster
metadata: {name: db}
spec:
  engine: postgres
  version: %q
  image: %s
  members: 2
  storage: {size: 1Gi}
`

// TestOperator has an operator run a cluster by its custom resource alone, while a client writes. It is killed in the
// middle of an upgrade, and replaced by one that names another image of the agent.
func TestOperator(t *testing.T) {
	s := newScene(t, "operator")
	releases := s.releases(15)
	old, latest := releases[len(releases)-1], releases[0]
	s.must("operator", "install", "--operator-namespace", s.ns, "--watch", s.ns)
	manifest := filepath.Join(t.TempDir(), "db.yaml")
	s.ok(os.WriteFile(manifest, fmt.Appendf(nil, wanted, old.Version, old.Image), 0o600))
	s.kubectl("apply", "-f", manifest)
	s.ready()
	w := s.write(old)

	first := s.primary()
	s.must("switchover", "db")
	if now := s.primary(); now == first {
		t.Errorf("%s is still the primary", now)
	}
	s.edit(`{"config": {"work_mem": "9MB"}}`)
	s.ready()
	if got := s.sql("SHOW work_mem"); got != "9MB" {
		t.Errorf("work_mem is %q", got)
	}

	s.edit(fmt.Sprintf(`{"version": %q, "image": %q, "waive": ["backup"]}`, latest.Version, latest.Image))
	s.restarted(latest.Image)
	before := time.Now()
	s.kubectl("delete", "pods", "-l", "app.kubernetes.io/component=operator", "--grace-period=0", "--force")
	s.ready()
	w.goesOn("clients write after the operator died in an upgrade")
	t.Logf("upgrade: no row was acknowledged for %s", w.gap(before))
	if got := s.sql("SHOW server_version"); !strings.HasPrefix(got, latest.Version) {
		t.Errorf("the primary runs %s", got)
	}

	members := s.shared.Members()
	s.kubectl("set", "env", "deployment/dbop-operator", "DBOP_HELPER_IMAGE=dbop.test/dbop-dev/kubectl-dbop:newer")
	s.kubectl("rollout", "status", "deployment/dbop-operator", "--timeout=60s")
	s.edit(`{"members": 3}`)
	s.ready()
	s.sameAgent(members)
	w.check()
	s.edit(`{"deletionPolicy": "Purge"}`)
	s.ready()
	s.kubectl("delete", "dbc", "db")
	s.ok(harness.Until(s.ctx, time.Minute, "the database to be gone", func(context.Context) error {
		if left := s.kubectl("get", "pods,pvc,services,secrets", "-l", "dbop.dev/cluster=db", "-o", "name"); left != "" {
			return fmt.Errorf("left %s", left)
		}
		return nil
	}))
}

// edit changes what is wanted, as kubectl patch does.
func (s *scene) edit(spec string) {
	s.Helper()
	s.kubectl("patch", "dbc", "db", "--type=merge", "-p", `{"spec": `+spec+`}`)
}

// ready waits until all is as wanted.
func (s *scene) ready() {
	s.Helper()
	began := time.Now()
	s.kubectl("wait", "--for=condition=Ready", "dbc/db", "--timeout=120s")
	s.Logf("ready after %s", time.Since(began).Round(100*time.Millisecond))
}

// restarted waits until a member runs an image.
func (s *scene) restarted(image string) {
	s.Helper()
	s.ok(harness.Until(s.ctx, time.Minute, "the first member to restart", func(context.Context) error {
		for _, p := range s.shared.Members() {
			if p.Spec.Containers[0].Image == image {
				return nil
			}
		}
		return fmt.Errorf("no member runs %s", image)
	}))
}

// sameAgent asks that no member was restarted, and that new ones run the agent of the others.
func (s *scene) sameAgent(before []corev1.Pod) {
	s.Helper()
	now := map[string]types.UID{}
	for _, p := range s.shared.Members() {
		now[p.Name] = p.UID
		if got := p.Spec.InitContainers[0].Image; got != s.site.Env["DBOP_HELPER_IMAGE"] {
			s.Errorf("the agent of %s is from %s", p.Name, got)
		}
	}
	for _, p := range before {
		if uid, there := now[p.Name]; there && uid != p.UID {
			s.Errorf("%s was restarted", p.Name)
		}
	}
	if said := s.kubectl("get", "dbc", "db", "-o", `jsonpath={.status.conditions[?(@.type=="Drifted")]}`); said != "" {
		s.Errorf("members are not as they should be: %s", said)
	}
}

// kubectl runs it in the scene's namespace, and returns what it says.
func (s *scene) kubectl(args ...string) string {
	s.Helper()
	r, err := s.site.Kubectl(s.TempDir()).Run(s.ctx, append(args, "-n", s.ns)...)
	s.ok(err)
	if r.Code != 0 {
		s.Fatalf("expected success:\n%s", r)
	}
	return strings.TrimSpace(r.Stdout)
}
