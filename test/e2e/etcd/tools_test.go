//go:build e2e

package etcd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// TestUpstreamTools asks programs that are not ours about what ours made.
func TestUpstreamTools(t *testing.T) {
	s := newScene(t, "tools", "my-db")
	s.create("my-db", "3.6", "3")
	db := s.dial("my-db")
	s.ok(harness.FillKeys(s.ctx, db, "kept/", 500, 64))
	s.someBackup()
	b, err := harness.LastBackup(s.backups)
	s.ok(err)
	for _, minor := range []string{"3.6", "3.7"} {
		r, err := s.site.Tool("etcdutl", minor).Run(s.ctx, "snapshot", "status", b.Path, "-w", "json")
		s.ok(err)
		var said struct {
			Revision int64 `json:"revision"`
			TotalKey int64 `json:"totalKey"`
		}
		if err := json.Unmarshal([]byte(r.Stdout), &said); r.Code != 0 || err != nil {
			t.Fatalf("etcdutl %s does not read the backup: %v\n%s", minor, err, r)
		}
		if said.Revision != b.Count("revision") || b.Count("keys") != 500 {
			t.Errorf("etcdutl says revision %d and %d keys with history, the manifest %d and %d", said.Revision,
				said.TotalKey,
				b.Count("revision"), b.Count("keys"))
		}
	}
	r := s.etcdctl("get", "kept/", "--prefix", "--count-only", "-w", "fields")
	s.says(r, `"Count" : 500`)
	s.says(s.etcdctl("endpoint", "health"), "is healthy")
	s.completion()
}

// etcdctl runs upstream's client through kubectl port-forward, with nothing
// but the client secret.
func (s *scene) etcdctl(args ...string) harness.Result {
	s.Helper()
	files, err := s.site.ClientFiles(s.ctx, s.ns, "my-db")
	s.ok(err)
	dir := s.TempDir()
	for name, content := range files {
		s.ok(os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	address, end, err := s.site.Forward(s.ctx, s.ns, "my-db-1-0", "2379")
	s.ok(err)
	defer end()
	ctl := s.site.Tool("etcdctl", "3.6")
	ctl.Dir = dir
	r, err := ctl.Run(s.ctx, append(args, "--endpoints", address, "--cacert", "ca.crt", "--cert", "tls.crt", "--key",
		"tls.key")...)
	s.ok(err)
	if r.Code != 0 {
		s.Errorf("etcdctl fails:\n%s", r)
	}
	return r
}

// completion asks kubectl to find the plugin and to complete its words.
func (s *scene) completion() {
	s.Helper()
	bin := filepath.Join(s.TempDir(), "bin")
	s.ok(os.Mkdir(bin, 0o700))
	for _, name := range []string{"kubectl-dbop", "kubectl_complete-dbop"} {
		s.ok(os.Symlink(s.site.Bin, filepath.Join(bin, name)))
	}
	kubectl := s.site.Kubectl(s.home)
	// Nothing else is on the PATH: kubectl plugin list fails where it finds a plugin twice.
	kubectl.Env["PATH"] = bin
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"plugin", "list"}, "kubectl-dbop"},
		{[]string{"__complete", "dbop", "up"}, "upgrade"},
		{[]string{"__complete", "dbop", "status", "-n", s.ns, ""}, "my-db"},
		{[]string{"__complete", "dbop", "member", "remove", "-n", s.ns, "my-db", ""}, "my-db-3"},
		{[]string{"dbop", "list", "-n", s.ns}, "my-db"},
	} {
		r, err := kubectl.Run(s.ctx, c.args...)
		s.ok(err)
		if r.Code != 0 {
			s.Errorf("kubectl fails:\n%s", r)
		}
		s.says(r, c.want)
	}
}
