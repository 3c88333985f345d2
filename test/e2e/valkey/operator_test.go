//go:build e2e

package valkey

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/scene"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// wanted is a cluster as a person asks an operator for it, and wantedBackup a backup.
const (
	wanted = `
apiVersion: dbop.dev/v1alpha1
kind: DatabaseCluster
metadata: {name: db}
spec:
  engine: valkey
  version: %q
  image: %s
  members: 3
  storage: {size: 1Gi}
  backup: {repository: "pvc:backups"}
  deletionPolicy: Purge
`
	wantedBackup = `
apiVersion: dbop.dev/v1alpha1
kind: DatabaseBackup
metadata: {name: once}
spec: {cluster: db}
`
)

// TestOperator has an operator run a cluster by its custom resource alone, while a client writes: it replaces a member
// whose volume is lost, backs up, and changes the series after a backup of its own.
func TestOperator(t *testing.T) {
	s := scene.New(t, "operator")
	before, after := release(s, "valkey", 8), release(s, "valkey", 9)
	claim(s, "backups")
	s.Must("operator", "install", "--operator-namespace", s.NS, "--watch", s.NS)
	apply(s, fmt.Sprintf(wanted, before.Version, before.Image))
	ready(s, "dbc/db")
	w := s.Writes(s.Site.StartValkeyWriter(s.Ctx, s.NS, "db", "valkey", before.Image, ""))

	lost, began := s.Member("replica"), time.Now()
	kubectl(s, "delete", "pvc", lost, "--wait=false")
	s.Kill(lost, true)
	s.OK(harness.Until(s.Ctx, time.Minute, lost+" to be replaced", func(context.Context) error {
		done := s.Must("history", "db").Stdout
		if !strings.Contains(done, "replace-member") {
			return fmt.Errorf("done is %s", done)
		}
		return nil
	}))
	ready(s, "dbc/db")
	w.MustGoOn("a replica was replaced", began)

	began = time.Now()
	kubectl(s, "patch", "dbc", "db", "--type=merge", "-p", `{"spec": {"routing": "Direct"}}`)
	ready(s, "dbc/db")
	w.MustGoOn("clients are led straight to the primary", began)
	if got := kubectl(s, "get", "service", "db-client", "-o", `jsonpath={.spec.selector.dbop\.dev/member}`); got !=
		s.Member("primary") {
		t.Errorf("the service selects %q", got)
	}

	apply(s, wantedBackup)
	ready(s, "dbb/once")
	if size := kubectl(s, "get", "dbb", "once", "-o", "jsonpath={.status.bytes}"); size == "" {
		t.Error("nobody says how large the backup is")
	}

	// Pods are made again after it, without the account that they had.
	kubectl(s, "patch", "dbc", "db", "--type=merge", "-p", `{"spec": {"routing": "Proxied"}}`)
	ready(s, "dbc/db")
	s.Led(false)

	began = time.Now()
	kubectl(s, "patch", "dbc", "db", "--type=merge", "-p",
		fmt.Sprintf(`{"spec": {"version": %q, "image": %q}}`, after.Version, after.Image))
	ready(s, "dbc/db")
	w.MustGoOn("upgrade", began)
	if got := command(s, "INFO", "server"); !slices.Contains(got, "valkey_version:"+after.Version) {
		t.Errorf("the primary runs %q", got)
	}
	if n := strings.Count(s.Must("backup", "list", "--repository", "pvc:backups", "-o", "name").Stdout, "db-"); n != 2 {
		t.Errorf("there are %d backups: one was asked for, and an upgrade begins with one", n)
	}
	w.Check(func() []string { return command(s, "SMEMBERS", "written") })

	kubectl(s, "delete", "dbc", "db")
	s.OK(harness.Until(s.Ctx, time.Minute, "the database to be gone", func(context.Context) error {
		if left := kubectl(s, "get", "pods,pvc,services,secrets", "-l", "dbop.dev/cluster=db", "-o", "name"); left != "" {
			return fmt.Errorf("left %s", left)
		}
		return nil
	}))
}

// claim makes a claim of the namespace.
func claim(s *scene.Scene, name string) {
	s.Helper()
	_, err := s.Site.Client.CoreV1().PersistentVolumeClaims(s.NS).Create(s.Ctx, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}, metav1.CreateOptions{})
	s.OK(err)
}

// apply applies a manifest as a person does.
func apply(s *scene.Scene, manifest string) {
	s.Helper()
	file := filepath.Join(s.TempDir(), "manifest.yaml")
	s.OK(os.WriteFile(file, []byte(manifest), 0o600))
	kubectl(s, "apply", "-f", file)
}

// ready waits until an object is as wanted.
func ready(s *scene.Scene, object string) {
	s.Helper()
	began := time.Now()
	kubectl(s, "wait", "--for=condition=Ready", object, "--timeout=120s")
	s.Logf("%s is ready after %s", object, time.Since(began).Round(100*time.Millisecond))
}

// kubectl runs it in the scene's namespace, and returns what it says.
func kubectl(s *scene.Scene, args ...string) string {
	s.Helper()
	r, err := s.Site.Kubectl(s.TempDir()).Run(s.Ctx, append([]string{"-n", s.NS}, args...)...)
	s.OK(err)
	if r.Code != 0 {
		s.Fatalf("expected success:\n%s", r)
	}
	return strings.TrimSpace(r.Stdout)
}
