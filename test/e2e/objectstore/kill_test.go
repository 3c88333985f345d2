//go:build e2e

package objectstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

const (
	// killRounds is how many backups are killed in the long form, and killWithin the longest time until one is.
	killRounds = 50
	killWithin = 12 * time.Second
	// killsWithin bounds all of them.
	killsWithin = 40 * time.Minute
)

// TestKilledJobs kills pods of backups, and commands that wait for them, at random moments. The same command always
// ends with one whole backup more.
func TestKilledJobs(t *testing.T) {
	if !torture.Full() {
		t.Skip("takes minutes, the long form has it: DBOP_TORTURE=all; TestTrouble kills one in every run")
	}
	s := newScene(t, "kills")
	ctx, cancel := context.WithTimeout(context.Background(), killsWithin)
	t.Cleanup(cancel)
	s.ctx = ctx
	s.succeeded(s.add("kills", "--new-key-file", s.file("key.txt")), "repository add")
	s.succeeded(s.add("kills", "--identity-file", s.file("key.txt")), "repository add --identity-file")
	s.must("create", "my-db", "--engine", "etcd", "--version", "3.6", "--members", "1", "--storage", "512Mi")
	for seed := range uint64(killRounds) {
		s.killedAt(rand.New(rand.NewPCG(seed, seed)))
		if n := strings.Count(s.must("backup", "list", "--repository", "offsite", "-o", "name").Stdout,
			"backup/"); n != int(seed)+1 {
			t.Fatalf("seed %d: there are %d backups, and %d were asked for", seed, n, seed+1)
		}
	}
	s.must("backup", "verify", s.newest(), "--repository", "offsite")
	if left := s.kubectl("get", "jobs", "-o", "name"); left != "" {
		t.Errorf("left %s", left)
	}
}

// killedAt kills the pod, the command or both at a random moment, and repeats the command until there is a backup.
func (s *scene) killedAt(r *rand.Rand) {
	s.Helper()
	p, err := s.cli.Start(s.ctx, "backup", "my-db", "--repository", "offsite", "-n", s.ns)
	s.ok(err)
	after, what := time.Duration(r.Int64N(int64(killWithin))), r.IntN(3)
	ended := make(chan harness.Result, 1)
	go func() {
		result, _ := p.Wait()
		ended <- result
	}()
	select {
	case result := <-ended: // it was faster
		s.succeeded(result, fmt.Sprintf("backup, to be killed after %s", after))
		return
	case <-time.After(after):
	}
	if what != 0 {
		s.kubectl("delete", "pods", "-l", "dbop.dev/purpose=backup", "--grace-period=0", "--force")
	}
	if what != 1 {
		s.ok(p.Signal(os.Kill))
	}
	if result := <-ended; result.Code == 0 {
		return
	}
	s.Logf("killed after %s", after)
	s.ok(harness.Until(s.ctx, 3*time.Minute, "the backup", func(context.Context) error {
		if result := s.try("backup", "my-db", "--repository", "offsite"); result.Code != 0 {
			return errors.New(result.String())
		}
		return nil
	}))
}
