//go:build e2e

package etcd

import (
	"maps"
	"os/exec"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// elsewhere is the tool on another machine: another host name, another home,
// and no directory that the first one had.
func (s *scene) elsewhere() harness.Command {
	s.Helper()
	unshare, err := exec.LookPath("unshare")
	if err != nil || exec.Command(unshare, "--uts", "true").Run() != nil {
		s.Skip("another host name takes the right to unshare the UTS namespace")
	}
	cli := s.cli
	cli.Env = maps.Clone(cli.Env)
	cli.Env["HOME"], cli.Env["DBOP_REPOSITORY"] = filepath.Join(s.TempDir(), "other"), ""
	cli.Path = unshare
	return cli
}

// on runs the tool there.
func (s *scene) on(machine harness.Command, args ...string) harness.Result {
	s.Helper()
	r, err := machine.Run(s.ctx, elsewhereLine(s.cli.Path, s.ns, args)...)
	s.ok(err)
	return r
}

// elsewhereLine makes unshare become the tool under another host name.
func elsewhereLine(path, ns string, args []string) []string {
	line := []string{"--uts", "sh", "-c", `hostname elsewhere && exec "$0" "$@"`, path}
	return append(line, inNamespace(ns, args)...)
}

// claim makes a volume that is a repository.
func (s *scene) claim(name string) {
	s.Helper()
	_, err := s.site.Client.CoreV1().PersistentVolumeClaims(s.ns).Create(s.ctx, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceStorage: resource.MustParse(storage)}},
		},
	}, metav1.CreateOptions{})
	s.ok(err)
}

// TestAnotherMachine kills an upgrade right after its safety backup, and
// continues on a machine that knows nothing of the first one.
func TestAnotherMachine(t *testing.T) {
	s := newScene(t, "machine", "my-db")
	there := s.elsewhere()
	s.claim("backups")
	s.create("my-db", "3.5", "3", "--repository", "pvc:backups")
	s.ok(harness.FillKeys(s.ctx, s.dial("my-db"), "kept/", 500, 64))
	if r := s.with(s.mortal("after:backup"), "upgrade", "my-db", "--version", "3.6", "--repository",
		"pvc:backups"); !r.Killed() {
		t.Fatalf("it did not die:\n%s", r)
	}
	r := s.on(there, "upgrade", "my-db", "--version", "3.6", "--repository", "pvc:backups")
	if r.Code != 0 {
		t.Fatalf("another machine can't continue:\n%s", r)
	}
	t.Logf("continued elsewhere in %s", r.Duration)
	s.healthy("my-db", 3)
	s.holdsBackup("my-db")
	s.says(s.must("backup", "list", "--repository", "pvc:backups"), "my-db-")
	if r := s.with(s.mortal("after:register-member"), "add-member", "my-db"); !r.Killed() {
		t.Fatalf("it did not die:\n%s", r)
	}
	if r := s.on(there, "resume", "my-db"); r.Code != 0 {
		t.Fatalf("another machine can't resume:\n%s", r)
	}
	s.healthy("my-db", 4)
}
