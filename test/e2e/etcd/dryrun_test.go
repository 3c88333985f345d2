//go:build e2e

package etcd

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// TestDryRun asks every changing verb what it would do: nothing may change,
// neither in Kubernetes nor in the database nor in the repository.
func TestDryRun(t *testing.T) {
	s := newScene(t, "dry", "my-db")
	s.create("my-db", "3.5", "3")
	db := s.dial("my-db")
	id := s.someBackup()
	s.ok(harness.Until(s.ctx, podWithin, "the namespace to be still", s.still))
	revision := s.revision(db)
	before := s.snapshot()
	verbs := [][]string{
		{"create", "other", "--engine", "etcd"},
		{"add-member", "my-db"},
		{"member", "remove", "my-db", "my-db-1"},
		{"scale", "my-db", "--members", "5"},
		{"scale", "my-db", "--members", "1"},
		{"upgrade", "my-db", "--version", "3.6"},
		{"backup", "my-db", "--verify"},
		{"restore", "other", "--from", id},
		{"restore", "my-db", "--in-place", "--from", id},
		{"delete", "my-db", "--purge"},
	}
	for _, verb := range verbs {
		for _, mode := range []string{"client", "server"} {
			r := s.must(append(verb, "--dry-run="+mode)...)
			if !strings.Contains(r.Stdout, "dry run") {
				t.Errorf("the result does not say that it is a dry run:\n%s", r)
			}
		}
		r := s.must(append(append([]string{"plan"}, verb...), "-o", "json")...)
		if !json.Valid([]byte(r.Stdout)) {
			t.Errorf("the plan is no JSON:\n%s", r)
		}
		s.must(append([]string{"plan"}, verb...)...)
	}
	s.same(before)
	if now := s.revision(db); now != revision {
		t.Errorf("the database moved from revision %d to %d", revision, now)
	}
	backups, err := harness.Backups(s.backups)
	s.ok(err)
	if len(backups) != 1 {
		t.Errorf("there are %d backups, not 1", len(backups))
	}
	s.healthy("my-db", 3)
}

func (s *scene) revision(db *harness.Etcd) int64 {
	s.Helper()
	r, err := db.KV.Get(s.ctx, "none")
	s.ok(err)
	return r.Header.Revision
}

// quietFor is how long nothing may move before the namespace counts as still.
const quietFor = 3 * time.Second

// still reports whether no controller has anything left to write.
func (s *scene) still(ctx context.Context) error {
	before := s.snapshot()
	return s.settled(ctx, func() bool { return maps.Equal(before, s.snapshot()) })
}

// settled asks once more after a while in which a controller would have written.
func (s *scene) settled(ctx context.Context, same func() bool) error {
	select {
	case <-time.After(quietFor):
	case <-ctx.Done():
	}
	if !same() {
		return errors.New("controllers still write")
	}
	return nil
}
