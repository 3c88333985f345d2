//go:build e2e

package objectstore

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// claimed is a scene with a repository on a claim, whose backups are encrypted and can be read in the namespace.
func claimed(t *testing.T, prefix string) *scene {
	t.Helper()
	s := newBareScene(t, prefix)
	add := []string{"repository", "add", "offsite", "--url", "pvc:backups/team-a"}
	s.refused(s.try(append(add, "--new-key-file", s.file("key.txt"))...), 4, "no persistentvolumeclaim backups")
	_, err := s.site.Client.CoreV1().PersistentVolumeClaims(s.ns).Create(s.ctx, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "backups"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}, metav1.CreateOptions{})
	s.ok(err)
	s.says(s.must(append(add, "--new-key-file", s.file("key.txt"))...), "repository/offsite added",
		"never replaces an object by a put")
	s.must(append(add, "--identity-file", s.file("key.txt"))...)
	return s
}

// TestClaim takes encrypted backups to a claim, by hand and by schedule, and restores them.
func TestClaim(t *testing.T) {
	s := claimed(t, "claim")
	s.must("create", "my-db", "--engine", "etcd", "--version", "3.6", "--members", "1", "--storage", "512Mi")
	db, err := s.site.DialEtcd(s.ctx, s.ns, "my-db")
	s.ok(err)
	s.ok(harness.FillKeys(s.ctx, db, "life/", 1000, 64))
	s.says(s.must("backup", "my-db", "--repository", "offsite"), "created")
	id := s.newest()
	s.says(s.must("repository", "check", "offsite", "--identity-file", s.file("key.txt")), "from now on", "1 of 1")
	s.must("restore", "my-copy", "--from", id, "--repository", "offsite", "--storage", "512Mi", "--members", "1")
	copied, err := s.site.DialEtcd(s.ctx, s.ns, "my-copy")
	s.ok(err)
	have, err := harness.ReadAll(s.ctx, copied, "life/")
	s.ok(errors.Join(err, copied.Close()))
	if len(have) != 1000 {
		t.Errorf("the restored cluster has %d keys", len(have))
	}
	s.ok(harness.FillKeys(s.ctx, db, "later/", 10, 64))
	s.must("restore", "my-db", "--in-place", "--from", id, "--repository", "offsite", "--yes")
	if have, err = harness.ReadAll(s.ctx, db, "later/"); err != nil || len(have) > 0 {
		t.Errorf("after the restore in place there are %d later keys, %v", len(have), err)
	}
	s.ok(db.Close())
	s.must("backup", "schedule", "my-db", "0 2 * * *", "--keep", "1", "--verify", "weekly", "--repository", "offsite")
	s.run("run-1")
	s.says(s.must("backup", "describe", s.newest(), "--repository", "offsite"), "served by etcd")
	s.nothingServes()
}

// nothingServes asks for no pod that serves a claim: those who needed one have ended it.
func (s *scene) nothingServes() {
	s.Helper()
	s.ok(harness.Until(s.ctx, time.Minute, "the end of pods that serve the claim", func(ctx context.Context) error {
		pods, err := s.site.Client.CoreV1().Pods(s.ns).List(ctx,
			metav1.ListOptions{LabelSelector: "dbop.dev/purpose=repository"})
		if err == nil && len(pods.Items) > 0 {
			err = errors.New(pods.Items[0].Name + " is there")
		}
		return err
	}))
}

// TestClaimLog archives the log of PostgreSQL on a claim, and restores to a moment. Its pods have another user than
// those that write the claim.
func TestClaimLog(t *testing.T) {
	s := claimed(t, "claimlog")
	found, err := harness.PostgresReleases(17)
	s.ok(err)
	release := found[0]
	s.must("create", "my-db", "--engine", "postgres", "--version", release.Version, "--image", release.Image,
		"--members", "1", "--storage", "1Gi", "--config", "archive-repository=offsite")
	sql := func(cluster, statement string) string {
		s.Helper()
		r, err := s.cli.Run(s.ctx, "-n", s.ns, "connect", cluster, "--", "-At", "-d", "app", "-c", statement)
		s.ok(err)
		return strings.TrimSpace(s.succeeded(r, "connect").Stdout)
	}
	s.must("backup", "my-db", "--repository", "offsite")
	id := s.newest()
	sql("my-db", "CREATE TABLE kept AS SELECT n FROM generate_series(1, 1000) n")
	moment := sql("my-db", "SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')")
	sql("my-db", "DROP TABLE kept")
	s.ok(harness.Until(s.ctx, time.Minute, "a log that is archived beyond "+moment, func(context.Context) error {
		sql("my-db", "CREATE TABLE IF NOT EXISTS later (n int); INSERT INTO later VALUES (1); SELECT pg_switch_wal()")
		if r := s.try("restore", "my-copy", "--from", id, "--repository", "offsite", "--to-time", moment, "--storage", "1Gi",
			"--members", "1", "--dry-run"); r.Code != 0 {
			return errors.New(r.Stderr)
		}
		return nil
	}))
	s.must("restore", "my-copy", "--from", id, "--repository", "offsite", "--to-time", moment, "--storage", "1Gi",
		"--members", "1")
	if got := sql("my-copy", "SELECT sum(n) FROM kept"); got != "500500" {
		t.Errorf("the restored cluster holds %q", got)
	}
	s.must("backup", "verify", id, "--repository", "offsite")
	s.nothingServes()
}
