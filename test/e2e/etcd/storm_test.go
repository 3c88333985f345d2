//go:build e2e

package etcd

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

const (
	// stormShare of all requests fail in a storm.
	stormShare = 0.15
	// attempts is how often a person types the same command again.
	attempts = 6
)

// TestStorm does the main job through an API server that conflicts, throttles,
// fails, resets, keeps silent, and loses answers to what it did.
func TestStorm(t *testing.T) {
	s := newScene(t, "storm", "my-db", "my-copy")
	seed := torture.Seed(t)
	proxy, config := s.proxy()
	cli := s.cli
	cli.Env = maps.Clone(cli.Env)
	cli.Env["KUBECONFIG"] = config
	proxy.Storm(seed, stormShare)
	results := &torture.Ledger{}
	t.Cleanup(func() { results.Write(t); t.Logf("faults: %v", proxy.Faults()) })

	s.insist(cli, results, nil, "create", "my-db", "--engine", "etcd", "--version", "3.5", "--members", "3", "--storage",
		storage)
	s.ok(harness.FillKeys(s.ctx, s.dial("my-db"), "kept/", 500, 64))
	l := s.underLoad("my-db", seed)
	s.insist(cli, results, l, "scale", "my-db", "--members", "5")
	s.insist(cli, results, l, "scale", "my-db", "--members", "3", "--yes")
	s.insist(cli, results, l, "upgrade", "my-db", "--version", "3.6")
	s.insist(cli, results, l, "backup", "my-db", "--verify")
	b, err := harness.LastBackup(s.backups)
	s.ok(err)
	s.insist(cli, results, l, "restore", "my-copy", "--from", b.ID, "--members", "1", "--storage", storage)
	l.end()

	proxy.Calm()
	for name, members := range map[string]int{"my-db": 3, "my-copy": 1} {
		s.healthy(name, members)
		s.settledVolumes(name, members)
		s.holdsBackup(name)
		s.says(s.must("resume", name), "unchanged")
	}
	for _, m := range s.status("my-db").Members {
		if !strings.HasPrefix(m.Version, "3.6.") {
			t.Errorf("%s runs %s", m.Name, m.Version)
		}
	}
}

// proxy starts one, and returns the kubeconfig that leads through it.
func (s *scene) proxy() (*harness.Proxy, string) {
	s.Helper()
	proxy, err := s.site.Proxy()
	s.ok(err)
	s.Cleanup(func() { _ = proxy.Close() })
	config := filepath.Join(s.TempDir(), "proxy.kubeconfig")
	s.ok(proxy.Kubeconfig(config))
	return proxy, config
}

// insist types a command until it is done, as often as a person would. Where
// it gives up, it says why and what to do.
func (s *scene) insist(cli harness.Command, results *torture.Ledger, l *load, args ...string) {
	s.Helper()
	row := torture.Row{Verb: "API server that fails at random", Where: strings.Join(args[:min(len(args), 4)], " "),
		Result: "FAILED", Gap: -1}
	defer func() { results.Add(row) }()
	began := time.Now()
	for row.Runs = 1; ; row.Runs++ {
		r := s.with(cli, args...)
		if r.Code == 0 {
			s.Logf("%s: done at the %d. time, after %s", row.Where, row.Runs, time.Since(began).Round(100*time.Millisecond))
			break
		}
		s.Logf("the %d. time:\n%s", row.Runs, r)
		if !slices.Contains([]int{1, 4, 5, 9}, r.Code) || !strings.Contains(r.Stderr, "error:") {
			s.Fatalf("it gave up without a word or with a wrong exit code:\n%s", r)
		}
		if row.Runs == attempts {
			s.Fatalf("%s is not done after %d times", row.Where, attempts)
		}
	}
	if l != nil {
		row.Gap = l.writer.LongestGap(began, time.Now())
	}
	row.Result = fmt.Sprintf("ok, %s", time.Since(began).Round(100*time.Millisecond))
}
