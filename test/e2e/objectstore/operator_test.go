//go:build e2e

package objectstore

import (
	"os"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// wanted is a cluster, and a backup of it, as a person asks an operator for them.
const wanted = `
apiVersion: dbop.dev/v1alpha1
kind: DatabaseCluster
metadata: {name: my-db}
spec:
  engine: etcd
  version: 3.6.16
  members: 1
  registry: REGISTRY
  storage: {size: 512Mi}
  backup: {repository: offsite, schedule: "0 2 * * *", keepFor: 7d, keepWeekly: 4, verify: weekly}
`

const wantedBackup = `
apiVersion: dbop.dev/v1alpha1
kind: DatabaseBackup
metadata: {name: once}
spec: {cluster: my-db, verify: true}
`

const wantedCopy = `
apiVersion: dbop.dev/v1alpha1
kind: DatabaseCluster
metadata: {name: my-copy}
spec:
  engine: etcd
  version: 3.6.16
  members: 1
  registry: REGISTRY
  storage: {size: 512Mi}
  restoreFrom: {repository: offsite, backup: BACKUP}
`

// TestOperator has an operator back up to a store, and restore from it, by custom resources alone.
func TestOperator(t *testing.T) {
	s := newScene(t, "named")
	s.must("operator", "install", "--operator-namespace", s.ns, "--watch", s.ns)
	s.apply(wanted)
	// The repository comes later: the operator says what is missing, and goes on once it is there.
	s.kubectl("wait", "--for=condition=Stalled", "dbc/my-db", "--timeout=60s")
	s.succeeded(s.add("operator", "--new-key-file", s.file("key.txt")), "repository add")
	s.succeeded(s.add("operator", "--identity-file", s.file("key.txt")), "repository add --identity-file")
	s.kubectl("wait", "--for=condition=Ready", "dbc/my-db", "--timeout=180s")
	db, err := s.site.DialEtcd(s.ctx, s.ns, "my-db")
	s.ok(err)
	s.ok(harness.FillKeys(s.ctx, db, "named/", 100, 64))
	s.ok(db.Close())
	s.apply(wantedBackup)
	s.kubectl("wait", "--for=condition=Ready", "dbb/once", "--timeout=180s")
	id := s.kubectl("get", "dbb", "once", "-o", "jsonpath={.status.backup}")
	if verified := s.kubectl("get", "dbb", "once", "-o", "jsonpath={.status.verifiedAt}"); verified == "" || id == "" {
		t.Fatalf("backup %q was verified at %q", id, verified)
	}
	if jobs := s.kubectl("get", "jobs", "-o", "name"); jobs != "" {
		t.Errorf("left %s", jobs)
	}
	s.kubectl("wait", "--for=condition=BackupHealthy", "dbc/my-db", "--timeout=60s")
	s.run("run-1")
	s.says(s.must("backup", "schedule", "my-db"), "those of 7d, one of each of 4 weeks", "weekly")
	s.says(s.must("history", "my-db"), "backup")
	s.apply(strings.ReplaceAll(wantedCopy, "BACKUP", id))
	s.kubectl("wait", "--for=condition=Ready", "dbc/my-copy", "--timeout=180s")
	copied, err := s.site.DialEtcd(s.ctx, s.ns, "my-copy")
	s.ok(err)
	have, err := harness.ReadAll(s.ctx, copied, "named/")
	s.ok(err)
	s.ok(copied.Close())
	if len(have) != 100 {
		t.Errorf("the restored cluster has %d keys", len(have))
	}
}

// apply applies a manifest as a person does.
func (s *scene) apply(manifest string) {
	s.Helper()
	file := s.file("manifest.yaml")
	s.ok(os.WriteFile(file, []byte(strings.ReplaceAll(manifest, "REGISTRY", s.site.Env["DBOP_REGISTRY"])), 0o600))
	s.kubectl("apply", "-f", file)
}

// kubectl runs it in the scene's namespace, and returns what it says.
func (s *scene) kubectl(args ...string) string {
	s.Helper()
	r, err := s.site.Kubectl(s.home).Run(s.ctx, append(args, "-n", s.ns)...)
	s.ok(err)
	s.succeeded(r, append([]string{"kubectl"}, args...)...)
	return strings.TrimSpace(r.Stdout)
}
