package etcd

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/client"
)

// TestDataHash: what a compaction drops makes no difference, what is newer does.
func TestDataHash(t *testing.T) {
	t.Parallel()
	history := []change{{main: 2, key: "a", value: "1"}, {main: 3, key: "b", value: "1"}, {main: 4, key: "a", value: "2"},
		{main: 5, key: "c"}, {main: 6, key: "c", deleted: true}}
	compacted := put("meta", "scheduledCompactRev", revisionKey(6, 0, false))
	marks := map[string]string{}
	for name, c := range map[string]struct {
		history []change
		also    func(*bolt.Tx) error
	}{
		"whole":     {history, nil},
		"compacted": {history, compacted},
		"dropped":   {history[1:3], compacted},
		"another":   {append([]change{{main: 3, key: "b", value: "2"}}, history[2:]...), compacted},
		"dead":      {history[3:], compacted},
	} {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "member", "snap"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "member", "snap", "db"), snapshotOf(t, c.history, c.also),
			0o600); err != nil {
			t.Fatal(err)
		}
		i, err := New().DataHash(dir)
		if err != nil {
			t.Fatal(err)
		}
		marks[name] = i.Mark
	}
	if marks["compacted"] != marks["dropped"] || marks["compacted"] == marks["another"] ||
		marks["compacted"] == marks["whole"] || marks["dead"] != "" {
		t.Errorf("marks %v", marks)
	}
	if !strings.HasPrefix(marks["whole"], "hashkv:6:0:") || !strings.HasPrefix(marks["compacted"], "hashkv:6:6:") {
		t.Errorf("marks %v", marks)
	}
	if _, err := New().DataHash(t.TempDir()); err == nil {
		t.Error("there is no data")
	}
}

// TestVerifyHash: a member of every series that has dropped a part of its history
// is by what it had when it stopped, also after another write.
func TestVerifyHash(t *testing.T) {
	t.Parallel()
	for _, series := range allSeries {
		t.Run(series, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, "witness", 1)
			m := f.name(1)
			f.form(series, m)
			f.fill(m)
			for _, value := range []string{"1", "2"} {
				if err := f.put(m, "later", value, ""); err != nil {
					t.Fatal(err)
				}
			}
			err := f.client(m, func(ctx context.Context, c *clientv3.Client) error {
				_, err := c.Delete(ctx, "key/2", clientv3.WithPrefix())
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			f.kill(m)
			i, err := New().DataHash(f.members[m].data)
			if err != nil {
				t.Fatal(err)
			}
			f.start(series, m, false, m)
			f.healthy(m)
			f.eventually("a write", func() error { return f.put(m, "new", "x", "") })
			f.attests(m, i.Mark)
		})
	}
	if _, err := (&client.Session{}).VerifyHash(t.Context(), "m", "no mark"); err == nil {
		t.Error("that is no mark")
	}
}
