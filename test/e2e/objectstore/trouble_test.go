//go:build e2e

package objectstore

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// A backup of these keys, 4 MiB, takes half a minute at the bandwidth: no cancel comes too late for it.
const (
	slowKeys, slowValue = 340, 12 << 10
	slowBandwidth       = "64Ki"
)

// TestTrouble kills the pod of a backup, the command that waits for it, and then damages what is stored: each ends
// in a whole backup or in a refusal.
func TestTrouble(t *testing.T) {
	s := newScene(t, "trouble")
	// The stock role edit suffices for all of it.
	s.ok(s.site.User(s.ctx, s.ns, "editor", "edit", s.file("editor.kubeconfig")))
	s.cli.Env["KUBECONFIG"] = s.file("editor.kubeconfig")
	s.succeeded(s.add("trouble", "--new-key-file", s.file("key.txt")), "repository add")
	s.succeeded(s.add("trouble", "--identity-file", s.file("key.txt")), "repository add --identity-file")
	s.must("create", "my-db", "--engine", "etcd", "--version", "3.6", "--members", "1", "--storage", "512Mi")
	db, err := s.site.DialEtcd(s.ctx, s.ns, "my-db")
	s.ok(err)
	defer func() { _ = db.Close() }()
	s.ok(harness.FillKeys(s.ctx, db, "kept/", slowKeys, slowValue))
	s.succeeded(s.add("trouble", "--bandwidth", slowBandwidth), "repository add --bandwidth")
	s.cancelled()
	s.succeeded(s.add("trouble", "--bandwidth", "0"), "repository add --bandwidth 0")
	s.killed()
	id := s.newest()
	s.must("backup", "verify", id, "--repository", "offsite")
	s.stockSnapshot("trouble")
	s.damaged(id)
	s.wrongKey(id)
}

// cancelled gives a backup up whose command was killed: its job ends, and there is no backup.
func (s *scene) cancelled() {
	s.Helper()
	p, err := s.cli.Start(s.ctx, "backup", "my-db", "--repository", "offsite", "-n", s.ns)
	s.ok(err)
	s.ok(harness.Until(s.ctx, time.Minute, "the job", func(context.Context) error {
		if s.kubectl("get", "jobs", "-o", "name") == "" {
			return errors.New("there is none yet")
		}
		return nil
	}))
	s.ok(p.Signal(os.Kill))
	_, _ = p.Wait()
	s.says(s.must("cancel", "my-db"), "my-db")
	if left := s.kubectl("get", "jobs,pods", "-l", "dbop.dev/purpose=backup", "-o", "name"); left != "" {
		s.Errorf("left %s", left)
	}
	if n := strings.Count(s.must("backup", "list", "--repository", "offsite", "-o", "name").Stdout, "backup/"); n != 0 {
		s.Errorf("there are %d backups", n)
	}
}

// killed kills the command first and the pod next, and has the same command find the backup that the Job made.
func (s *scene) killed() {
	s.Helper()
	p, err := s.cli.Start(s.ctx, "backup", "my-db", "--repository", "offsite", "-n", s.ns)
	s.ok(err)
	kubectl := func(ctx context.Context, args ...string) (string, error) {
		r, err := s.site.Kubectl(s.home).Run(ctx, append(args, "-n", s.ns)...)
		return strings.TrimSpace(r.Stdout), err
	}
	s.ok(harness.Until(s.ctx, time.Minute, "the pod of the backup", func(ctx context.Context) error {
		out, err := kubectl(ctx, "get", "pods", "-l", "dbop.dev/purpose=backup", "-o", "name")
		if err == nil && out == "" {
			err = errors.New("there is none yet")
		}
		return err
	}))
	s.ok(p.Signal(os.Kill))
	_, _ = p.Wait()
	_, err = kubectl(s.ctx, "delete", "pods", "-l", "dbop.dev/purpose=backup", "--grace-period=0", "--force")
	s.ok(err)
	s.ok(harness.Until(s.ctx, 2*time.Minute, "the job", func(ctx context.Context) error {
		out, err := kubectl(ctx, "get", "jobs", "-o", "jsonpath={.items[*].status.succeeded}")
		if err == nil && out != "1" {
			err = errors.New("no pod of it has succeeded yet")
		}
		return err
	}))
	s.says(s.must("backup", "my-db", "--repository", "offsite"), "created")
	if n := strings.Count(s.must("backup", "list", "--repository", "offsite", "-o", "name").Stdout, "backup/"); n != 1 {
		s.Errorf("there are %d backups: the second command did not continue the first", n)
	}
}

// damaged has one byte of a volume flipped, the volume cut, and the volume gone.
func (s *scene) damaged(id string) {
	s.Helper()
	key := s.object("trouble/data/")
	whole, err := s.store.Read(s.ctx, bucket, key)
	s.ok(err)
	flipped := append([]byte{}, whole...)
	flipped[len(flipped)/2] ^= 1
	s.ok(s.store.Write(s.ctx, bucket, key, flipped))
	s.refused(s.try("backup", "verify", id, "--repository", "offsite"), 9, "sha-256", id)
	s.refused(s.try("restore", "flipped", "--from", id, "--repository", "offsite", "--storage", "512Mi",
		"--members", "1"),
		9, "sha-256")
	s.ok(s.store.Write(s.ctx, bucket, key, whole[:len(whole)-7]))
	s.refused(s.try("restore", "cut", "--from", id, "--repository", "offsite", "--storage", "512Mi"), 4,
		"bytes instead of")
	s.ok(s.store.Write(s.ctx, bucket, key, whole))
	manifest := s.object("trouble/manifests/")
	signed, err := s.store.Read(s.ctx, bucket, manifest)
	s.ok(err)
	forged := strings.Replace(string(signed), `"member": "my-db-1"`, `"member": "my-db-2"`, 1)
	s.ok(s.store.Write(s.ctx, bucket, manifest, []byte(forged)))
	s.refused(s.try("restore", "forged", "--from", id, "--repository", "offsite", "--storage", "512Mi"), 1, "trusted key")
	s.ok(s.store.Write(s.ctx, bucket, manifest, signed))
}

// wrongKey gives the namespace a key that the backup was not encrypted to.
func (s *scene) wrongKey(id string) {
	s.Helper()
	r := s.try("repository", "add", "other", "--url", "s3://"+bucket+"/other", "--endpoint", s.store.Endpoint, "--region",
		"us-east-1", "--path-style", "--ca-file", s.file("ca.pem"), "--from-env", "--new-key-file", s.file("other.txt"))
	s.succeeded(r, "repository add other")
	s.succeeded(s.add("trouble", "--identity-file", s.file("other.txt")), "repository add --identity-file")
	s.refused(s.try("backup", "verify", id, "--repository", "offsite"), 9, "other recipients")
}

// object is the first one under a prefix.
func (s *scene) object(prefix string) string {
	s.Helper()
	keys, err := s.store.Keys(s.ctx, bucket)
	s.ok(err)
	for _, k := range keys {
		if strings.HasPrefix(k, prefix) {
			return k
		}
	}
	s.Fatalf("no object under %s in %q", prefix, keys)
	return ""
}
