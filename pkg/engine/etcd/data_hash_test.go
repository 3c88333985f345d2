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
		marks[name] = markOf(t, snapshotOf(t, c.history, c.also))
	}
	if marks["compacted"] != marks["dropped"] || marks["compacted"] == marks["another"] ||
		marks["compacted"] == marks["whole"] || marks["dead"] != "" {
		t.Errorf("marks %v", marks)
	}
	if !strings.HasPrefix(marks["whole"], "hashkv:6:0:") || !strings.HasPrefix(marks["compacted"], "hashkv:6:6:") {
		t.Errorf("marks %v", marks)
	}
	if _, err := New().DataHash(filepath.Join(t.TempDir(), "db"), nil); err == nil {
		t.Error("there is no data")
	}
}

func markOf(t *testing.T, content []byte, command ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	i, err := New().DataHash(path, command)
	if err != nil {
		t.Fatal(err)
	}
	return i.Mark
}

// TestDataHashRaised: what is said before a restore raises the revision is what is found in the file after it.
func TestDataHashRaised(t *testing.T) {
	t.Parallel()
	history := []change{{main: 2, key: "a", value: "1"}, {main: 3, key: "b", value: "1"}, {main: 4, key: "a", value: "2"},
		{main: 5, key: "c"}, {main: 6, key: "c", deleted: true}}
	compacted := func(at int64) func(*bolt.Tx) error {
		return put("meta", "scheduledCompactRev", revisionKey(at, 0, false))
	}
	for name, c := range map[string]struct {
		before []change
		also   func(*bolt.Tx) error
		latest int64
	}{
		"whole":          {history, nil, 6},
		"compacted":      {history, compacted(4), 6},
		"last dropped":   {history[:3], compacted(6), 4},
		"nothing":        {nil, nil, 0},
		"raised before":  {append(history[:2:2], change{main: 50}), compacted(50), 50},
		"changed since":  {append(history[:2:2], change{main: 50}, change{main: 51, key: "a"}), compacted(50), 51},
		"all is deleted": {history[3:], nil, 6},
	} {
		after := snapshotOf(t, c.before, func(tx *bolt.Tx) error {
			at := c.latest + 1000
			if err := put("key", string(revisionKey(at, 0, false)), nil)(tx); err != nil {
				return err
			}
			return compacted(at)(tx)
		})
		said := markOf(t, snapshotOf(t, c.before, c.also), "etcdutl", "snapshot", "restore", raiseFlag, "1000")
		if found := markOf(t, after); said != found || said == "" {
			t.Errorf("%s: it said %q, and %q was found", name, said, found)
		}
	}
	for _, command := range [][]string{{raiseFlag}, {raiseFlag, "much"}, {raiseFlag, "-1"}} {
		if _, err := New().DataHash("db", command); err == nil || !strings.Contains(err.Error(), raiseFlag) {
			t.Errorf("%q: %v", command, err)
		}
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
			i, err := New().DataHash(filepath.Join(f.members[m].data, "member", "snap", "db"), nil)
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
