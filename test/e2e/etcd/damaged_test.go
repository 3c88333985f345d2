//go:build e2e

package etcd

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// TestDamagedBackup offers backups that are not what they say: they must be
// refused before anything is touched.
func TestDamagedBackup(t *testing.T) {
	s := newScene(t, "damaged", "my-db", "my-copy")
	s.create("my-db", "3.6", "1")
	s.ok(harness.FillKeys(s.ctx, s.dial("my-db"), "kept/", 500, 64))
	id := s.someBackup()
	b, err := harness.LastBackup(s.backups)
	s.ok(err)
	whole, err := os.ReadFile(b.Path)
	s.ok(err)
	manifest, err := os.ReadFile(b.Manifest)
	s.ok(err)
	s.ok(harness.Until(s.ctx, podWithin, "the namespace to be still", s.still))
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 1
	for _, c := range []struct {
		name           string
		data, manifest []byte
	}{
		{"truncated", whole[:len(whole)/2], manifest},
		{"bit-flipped", flipped, manifest},
		{"empty", nil, manifest},
		{"wrong-engine", whole, bytes.Replace(manifest, []byte(`"etcd"`), []byte(`"oracle"`), 1)},
		{"unreadable manifest", whole, []byte("{")},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := *s
			in.T = t
			in.ok(os.WriteFile(b.Path, c.data, 0o600))
			in.ok(os.WriteFile(b.Manifest, c.manifest, 0o600))
			before := in.snapshot()
			for _, args := range [][]string{
				{"restore", "my-copy", "--from", id, "--members", "1", "--storage", storage},
				{"restore", "my-db", "--in-place", "--from", id, "--yes"},
			} {
				if r := in.try(args...); r.Code == 0 {
					in.Fatalf("a damaged backup was restored:\n%s", r)
				} else {
					in.judge(r, r.Code)
				}
			}
			in.same(before)
		})
	}
	s.ok(os.WriteFile(b.Path, whole, 0o600))
	s.ok(os.WriteFile(b.Manifest, manifest, 0o600))
	s.must("restore", "my-copy", "--from", id, "--members", "1", "--storage", storage)
	s.holdsBackup("my-copy")
}

// TestNoSpace backs up to a file system that is too small.
func TestNoSpace(t *testing.T) {
	s := newScene(t, "nospace", "my-db")
	small := filepath.Join(s.home, "small")
	s.ok(os.Mkdir(small, 0o700))
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("a small file system takes the right to mount one: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(small, 0); err != nil {
			t.Error(err)
		}
	})
	s.create("my-db", "3.6", "1")
	s.ok(harness.FillKeys(s.ctx, s.dial("my-db"), "kept/", 4000, 1000))
	s.refused(4, []string{"bytes free"}, "backup", "my-db", "--to", small)
	left, err := harness.Backups(small)
	s.ok(err)
	if len(left) > 0 {
		t.Errorf("half a backup counts as one: %+v", left)
	}
	s.must("backup", "my-db")
	s.healthy("my-db", 1)
}

// snapshot is the version of every object in the namespace.
func (s *scene) snapshot() map[string]string {
	s.Helper()
	out := map[string]string{}
	note := func(kind string, m metav1.ObjectMeta) { out[kind+"/"+m.Name] = m.ResourceVersion }
	core, all := s.site.Client.CoreV1(), metav1.ListOptions{}
	configs, err := core.ConfigMaps(s.ns).List(s.ctx, all)
	s.ok(err)
	for _, o := range configs.Items {
		note("configmap", o.ObjectMeta)
	}
	secrets, err := core.Secrets(s.ns).List(s.ctx, all)
	s.ok(err)
	for _, o := range secrets.Items {
		note("secret", o.ObjectMeta)
	}
	services, err := core.Services(s.ns).List(s.ctx, all)
	s.ok(err)
	for _, o := range services.Items {
		note("service", o.ObjectMeta)
	}
	pods, err := core.Pods(s.ns).List(s.ctx, all)
	s.ok(err)
	for _, o := range pods.Items {
		note("pod", o.ObjectMeta)
	}
	claims, err := core.PersistentVolumeClaims(s.ns).List(s.ctx, all)
	s.ok(err)
	for _, o := range claims.Items {
		note("persistentvolumeclaim", o.ObjectMeta)
	}
	sets, err := s.site.Client.AppsV1().StatefulSets(s.ns).List(s.ctx, all)
	s.ok(err)
	for _, o := range sets.Items {
		note("statefulset", o.ObjectMeta)
	}
	budgets, err := s.site.Client.PolicyV1().PodDisruptionBudgets(s.ns).List(s.ctx, all)
	s.ok(err)
	for _, o := range budgets.Items {
		note("poddisruptionbudget", o.ObjectMeta)
	}
	leases, err := s.site.Client.CoordinationV1().Leases(s.ns).List(s.ctx, all)
	s.ok(err)
	for _, o := range leases.Items {
		note("lease", o.ObjectMeta)
	}
	return out
}

// same asks that nothing was written since a snapshot.
func (s *scene) same(before map[string]string) {
	s.Helper()
	after := s.snapshot()
	for name, version := range after {
		switch was, ok := before[name]; {
		case !ok:
			s.Errorf("%s was made", name)
		case was != version:
			s.Errorf("%s was changed", name)
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			s.Errorf("%s was deleted", name)
		}
	}
}
