//go:build e2e

package etcd

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// requests are two objects that ask for a backup of a cluster without a
// repository: one names its own, the other one does not.
const requests = `
apiVersion: dbop.dev/v1alpha1
kind: DatabaseBackup
metadata: {name: once}
spec: {cluster: my-db, repository: "pvc:backups", verify: true}
---
apiVersion: dbop.dev/v1alpha1
kind: DatabaseBackup
metadata: {name: nowhere}
spec: {cluster: my-db}
`

// backsUp asks for backups as a person does who knows nothing but kubectl.
func (c *custom) backsUp() {
	c.Helper()
	c.claim("backups")
	file := filepath.Join(c.home, "requests.yaml")
	c.ok(os.WriteFile(file, []byte(requests), 0o600))
	began := time.Now()
	c.kubectl("created", "apply", "-f", file)
	c.kubectl("condition met", "wait", "--for=condition=Stalled", "dbb/nowhere", "--timeout=60s")
	c.kubectl("names a repository; set spec.backup.repository", "get", "dbb", "nowhere", "-o", "json")
	c.kubectl("condition met", "wait", "--for=condition=Ready", "dbb/once", "--timeout=120s")
	c.Logf("taken, restored and compared after %s", time.Since(began).Round(100*time.Millisecond))
	c.kubectl("verified", "get", "dbb", "once")
	c.kubectl("unchanged", "apply", "-f", file)
	c.kubectl("make another object", "patch", "dbb", "once", "--type=merge", "-p", `{"spec":{"verify":false}}`)

	o := &v1alpha1.DatabaseBackup{}
	c.ok(c.api.Get(c.ctx, client.ObjectKey{Namespace: c.ns, Name: "once"}, o))
	if st := o.Status; st.Bytes == 0 || st.Contents == "" || st.TakenAt == nil || st.VerifiedAt == nil {
		c.Errorf("%+v", st)
	}
	c.kubectl("deleted", "delete", "-f", file)
	// Without the object there still is the backup, and nobody took another.
	c.says(c.must("backup", "list", "--repository", "pvc:backups", "-o", "name"), "/"+o.Status.Backup)
	if r := c.must("history", "my-db"); strings.Count(r.Stdout, " backup ") != 1 {
		c.Errorf("expected one backup:\n%s", r)
	}
}

// kubectl runs it in the namespace and asks for a word in what it says.
func (c *custom) kubectl(want string, args ...string) {
	c.Helper()
	r := c.scene.kubectl(args...)
	if !strings.Contains(r.Stdout+r.Stderr, want) {
		c.Fatalf("expected %q:\n%s", want, r)
	}
}
