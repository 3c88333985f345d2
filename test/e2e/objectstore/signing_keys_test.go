//go:build e2e

package objectstore

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// keyTaken bounds the time until what archives the log signs with the new key: the kubelet renews a Secret that is
// mounted within some two minutes.
const keyTaken = 5 * time.Minute

// TestSigningKeys replaces the key that signs, beside what archives the log, and then refuses the former one: a backup
// of before is refused by the name of its key, and one of after is restored with log that the new key signed alone.
func TestSigningKeys(t *testing.T) {
	if !torture.Full() {
		t.Skip("make torture ENGINE=objectstore runs it")
	}
	s := newScene(t, "signing")
	found, err := harness.PostgresReleases(17)
	s.ok(err)
	s.succeeded(s.add("main", "--new-key-file", s.file("key.txt")), "repository add")
	s.succeeded(s.add("main", "--identity-file", s.file("key.txt")), "repository add --identity-file")
	s.must("create", "my-db", "--engine", "postgres", "--version", found[0].Version, "--image", found[0].Image,
		"--members", "1", "--storage", "1Gi", "--config", "archive-repository=offsite", "--config", "archive_timeout=5s")
	s.sql("my-db", "CREATE TABLE kept (n bigint)")
	s.must("backup", "my-db", "--repository", "offsite")
	before, former := s.newest(), s.keyInForce()

	s.succeeded(s.add("main", "--new-signing-key"), "repository add --new-signing-key")
	if now := s.keyInForce(); now == former {
		t.Fatalf("key %s signs as before", now)
	}
	s.must("backup", "verify", before, "--repository", "offsite") // its key is trusted still
	s.taken(s.keyInForce())
	s.must("backup", "my-db", "--repository", "offsite")
	after := s.newest()
	s.sql("my-db", "INSERT INTO kept SELECT generate_series(1, 1000)")
	at := s.now()

	s.succeeded(s.add("main", "--distrust", former), "repository add --distrust")
	for _, args := range [][]string{{"backup", "verify", before, "--repository", "offsite"},
		{"restore", "refused", "--from", before, "--repository", "offsite", "--storage", "1Gi"}} {
		if r := s.try(args...); r.Code == 0 || !strings.Contains(r.Stderr, former) {
			t.Errorf("a backup that key %s signed:\n%s", former, r)
		}
	}
	s.must("backup", "verify", after, "--repository", "offsite")
	s.archivedUntil(after, at)
	s.must("restore", "my-copy", "--from", after, "--repository", "offsite", "--to-time", at.Format(time.RFC3339Nano),
		"--storage", "1Gi")
	if got := s.sql("my-copy", "SELECT sum(n) FROM kept"); got != "500500" {
		t.Errorf("the restored cluster holds %q", got)
	}
}

func (s *scene) sql(cluster, statement string) string {
	s.Helper()
	r, err := s.cli.Run(s.ctx, "-n", s.ns, "connect", cluster, "--", "-At", "-d", "app", "-c", statement)
	s.ok(err)
	return strings.TrimSpace(s.succeeded(r, "connect").Stdout)
}

var signs = regexp.MustCompile(`signs with ([0-9a-f]{8})`)

// keyInForce is the ID of the key that signs, as people are told it.
func (s *scene) keyInForce() string {
	s.Helper()
	r := s.must("repository", "check", "offsite")
	found := signs.FindStringSubmatch(r.Stdout)
	if found == nil {
		s.Fatalf("it does not say which key signs:\n%s", r)
	}
	return found[1]
}

// taken waits until the pod that archives the log says that it signs with a key.
func (s *scene) taken(key string) {
	s.Helper()
	began := time.Now()
	s.ok(harness.Until(s.ctx, keyTaken, "the log to be signed with the new key", func(ctx context.Context) error {
		r, err := s.site.Kubectl(s.home).Run(ctx, "logs", "my-db-archive-0", "-n", s.ns)
		if err == nil && !strings.Contains(r.Stdout, "signed with "+key) {
			err = errors.New(r.Stdout)
		}
		return err
	}))
	s.Logf("signed with the new key after %s", time.Since(began).Round(time.Second))
}

// now is the time of the server.
func (s *scene) now() time.Time {
	s.Helper()
	at, err := time.Parse(time.RFC3339Nano, s.sql("my-db",
		`SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`))
	s.ok(err)
	return at
}

// archivedUntil waits until the log of a backup reaches a moment.
func (s *scene) archivedUntil(id string, at time.Time) {
	s.Helper()
	s.ok(harness.Until(s.ctx, keyTaken, "the log to be archived", func(context.Context) error {
		s.sql("my-db", "CREATE TABLE IF NOT EXISTS ticks (n int); INSERT INTO ticks VALUES (1); SELECT pg_switch_wal()")
		var list struct {
			Items []struct {
				ID    string    `json:"id"`
				Until time.Time `json:"until"`
			} `json:"items"`
		}
		r := s.must("backup", "list", "--repository", "offsite", "-o", "json")
		if err := json.Unmarshal([]byte(r.Stdout), &list); err != nil {
			return err
		}
		for _, b := range list.Items {
			if b.ID == id && b.Until.After(at) {
				return nil
			}
		}
		return errors.New(r.Stdout)
	}))
}
