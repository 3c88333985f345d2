//go:build e2e

package objectstore

import (
	"os"
	"path"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// stockSnapshot restores the newest backup below a prefix by age, zstd and etcdutl alone, as docs/repository-format.md
// tells, and returns the file that etcdutl restored.
func (s *scene) stockSnapshot(prefix string) string {
	s.Helper()
	keys, err := s.store.Keys(s.ctx, bucket)
	s.ok(err)
	slices.Sort(keys)
	var manifest string
	for _, k := range keys {
		if strings.HasPrefix(k, prefix+"/manifests/") {
			manifest = k // the last one began last
		}
	}
	attempt, _, _ := strings.Cut(path.Base(manifest), "_")
	snapshot := s.file("snapshot.db")
	s.ok(os.RemoveAll(snapshot))
	age, zstd := harness.Command{Path: harness.StoreProgram("age")}, harness.Command{Path: "zstd"}
	for _, k := range keys {
		if !strings.HasPrefix(k, prefix+"/data/") || path.Base(path.Dir(k)) != attempt {
			continue
		}
		volume, err := s.store.Read(s.ctx, bucket, k)
		s.ok(err)
		s.ok(os.WriteFile(s.file("volume.zst.age"), volume, 0o600))
		s.stock(age, "-d", "-i", s.file("key.txt"), "-o", s.file("volume.zst"), s.file("volume.zst.age"))
		s.stock(zstd, "-dqf", s.file("volume.zst"), "-o", s.file("volume"))
		s.appendTo(snapshot, s.file("volume"))
	}
	s.ok(os.RemoveAll(s.file("restored")))
	s.stock(s.site.Tool("etcdutl", "3.6"), "snapshot", "restore", snapshot, "--data-dir", s.file("restored"))
	return snapshot
}

// stock runs a program of somebody else's.
func (s *scene) stock(with harness.Command, args ...string) {
	s.Helper()
	r, err := with.Run(s.ctx, args...)
	s.ok(err)
	s.succeeded(r, path.Base(with.Path))
}

func (s *scene) appendTo(file, part string) {
	s.Helper()
	content, err := os.ReadFile(part)
	s.ok(err)
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	s.ok(err)
	_, err = f.Write(content)
	s.ok(err)
	s.ok(f.Close())
}
