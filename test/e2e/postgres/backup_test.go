//go:build e2e

package postgres

import (
	"bytes"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// rows is a table that a backup must bring back to the last byte, and contents what says so.
const (
	rows     = "CREATE TABLE kept AS SELECT n, md5(n::text) AS word FROM generate_series(1, 20000) n"
	contents = "SELECT count(*) || ' ' || md5(string_agg(word, '' ORDER BY n)) FROM kept"
)

// TestBackup brings a database back from a claim: compared in a throw-away member, then into a new cluster that grows,
// then over the old one. TestMoment does the same with an object store.
func TestBackup(t *testing.T) {
	if !torture.Full() {
		t.Skip("make torture ENGINE=postgres runs it")
	}
	s := newScene(t, "backup")
	release := s.releases(17)[0]
	s.claim("backups")
	s.create(release, "2")
	s.sql(rows)
	want := s.sql(contents)
	s.must("backup", "db", "--repository", "pvc:backups", "--verify")
	listed := s.must("backup", "list", "--repository", "pvc:backups").Stdout
	id := ""
	for line := range strings.Lines(listed) {
		if f := strings.Fields(line); strings.HasPrefix(line, "db-") {
			id = f[0]
		}
	}
	if id == "" || strings.Contains(listed, " no ") {
		t.Fatalf("no backup is verified:\n%s", listed)
	}
	s.sql("INSERT INTO kept VALUES (0, 'later')")

	mounted := func(r harness.Result) {
		t.Helper()
		if !strings.Contains(r.Stderr, "which mounts claim backups") {
			t.Errorf("the backup was sent to the pod that loads it:\n%s", r)
		}
	}
	mounted(s.must("restore", "copy", "--from", id, "--repository", "pvc:backups", "--members", "2", "--storage", "1Gi"))
	if got := s.sqlOf("copy", contents); got != want {
		t.Errorf("the copy holds %s, want %s", got, want)
	}
	s.must("delete", "copy", "--skip-backup", "--purge", "--yes")
	mounted(s.must("restore", "db", "--in-place", "--from", id, "--repository", "pvc:backups", "--yes"))
	if got := s.sql(contents); got != want {
		t.Errorf("the database holds %s, want %s", got, want)
	}
	s.healthy(2)
	s.must("undo", "db", "--yes")
	s.healthy(2)
	if got := s.sql("SELECT count(*) FROM kept WHERE word = 'later'"); got != "1" {
		t.Errorf("with the restore taken back, %s of 1 rows from before it are there", got)
	}
}

// TestDamagedBackup: a backup of which one byte is another is refused, and nothing is made of it. Agents that are plain
// processes refuse it in make agents.
func TestDamagedBackup(t *testing.T) {
	if !torture.Full() {
		t.Skip("make torture ENGINE=postgres runs it")
	}
	s := newScene(t, "damaged")
	release := s.releases(18)[0]
	dir := t.TempDir()
	s.create(release, "1")
	s.must("backup", "db", "--repository", dir)
	found, err := harness.LastBackup(dir)
	s.ok(err)
	raw, err := os.ReadFile(found.Path)
	s.ok(err)
	raw[bytes.Index(raw, []byte("base/1/1255"))+100_000] ^= 1
	s.ok(os.WriteFile(found.Path, raw, 0o600))
	id := found.Manifest[strings.LastIndexByte(found.Manifest, '/')+1:]
	id = strings.TrimSuffix(id, ".json")
	r := s.try("restore", "copy", "--from", id, "--repository", dir, "--storage", "1Gi")
	if r.Code == 0 || !strings.Contains(r.Stderr, "damaged") {
		t.Errorf("a damaged backup is restored:\n%s", r)
	}
	r = s.try("backup", "verify", id, "--repository", dir)
	if r.Code == 0 || !strings.Contains(r.Stderr, "damaged") {
		t.Errorf("a damaged backup is verified:\n%s", r)
	}
	if r = s.try("status", "db"); r.Code != 10 || !strings.Contains(r.Stdout, "is not restorable") {
		t.Errorf("the status does not say that the only backup is damaged:\n%s", r)
	}
	s.must("backup", "db", "--repository", dir, "--verify") // as the status says
	s.healthy(1)
}

// claim makes a claim of the namespace.
func (s *scene) claim(name string) {
	s.Helper()
	_, err := s.site.Client.CoreV1().PersistentVolumeClaims(s.ns).Create(s.ctx, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}, metav1.CreateOptions{})
	s.ok(err)
}

// sqlOf asks the primary of another cluster.
func (s *scene) sqlOf(cluster, statement string) string {
	s.Helper()
	return strings.TrimSpace(s.must("connect", cluster, "--", "-At", "-d", "app", "-c", statement).Stdout)
}
