//go:build e2e

package etcd

import (
	"maps"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

const (
	// leaseTime is how long a holder that does not renew is waited for.
	leaseTime = 15 * time.Second
	// stopsWithin is how long a process that lost its lease may take to notice.
	stopsWithin = 5 * time.Second
	// skew is how far apart two clocks are.
	skew = 10 * time.Minute
)

// TestFrozen freezes the tool in the middle of an upgrade for longer than its
// lease. Another takes over; the first, once it goes on, stops without a deed,
// whether the other still works or is done.
func TestFrozen(t *testing.T) {
	s := newScene(t, "frozen", "my-db")
	seed := torture.Seed(t)
	results := &torture.Ledger{}
	t.Cleanup(func() { results.Write(t) })
	s.create("my-db", "3.5", "3")
	l := s.underLoad("my-db", seed)
	for _, c := range []struct {
		name, to  string
		meanwhile bool
	}{{"goes on while the other works", "3.6", true}, {"goes on when the other is done", "3.7", false}} {
		row := torture.Row{Verb: "lease of a frozen tool", Where: "frozen in an upgrade, " + c.name, Result: "FAILED",
			Runs: 2}
		began := time.Now()
		args := []string{"upgrade", "my-db", "--version", c.to, "--skip-backup", "--progress", "plain"}
		first := s.begin(s.cli, args...)
		s.ok(untilSaid(s.ctx, first, "Restart my-db"))
		s.ok(first.Signal(syscall.SIGSTOP))
		second := s.begin(s.cli, args...)
		s.ok(untilSaid(s.ctx, second, "taking over"))
		s.ok(untilSaid(s.ctx, second, "plan:"))
		if c.meanwhile {
			s.lostLease(first)
		}
		if r, err := second.Wait(); err != nil || r.Code != 0 {
			t.Fatalf("the one that took over does not come to its end: %v\n%s", err, r)
		}
		if !c.meanwhile {
			s.ok(harness.Until(s.ctx, podWithin, "the namespace to be still", s.still))
			before := s.snapshot()
			s.lostLease(first)
			s.same(before)
		}
		s.healthy("my-db", 3)
		row.Gap = l.writer.LongestGap(began, time.Now())
		if !t.Failed() {
			row.Result = "ok"
		}
		results.Add(row)
	}
	l.end()
	s.says(s.must("resume", "my-db"), "unchanged")
	if n := strings.Count(s.must("history", "my-db").Stdout, "upgrade"); n != 2 {
		t.Errorf("two upgrades are %d operations in the history", n)
	}
}

// begin starts the tool.
func (s *scene) begin(cli harness.Command, args ...string) *harness.Process {
	s.Helper()
	p, err := cli.Start(s.ctx, inNamespace(s.ns, args)...)
	s.ok(err)
	return p
}

// lostLease lets a frozen process go on, which must stop and say why.
func (s *scene) lostLease(p *harness.Process) {
	s.Helper()
	told := time.Now()
	s.ok(p.Signal(syscall.SIGCONT))
	r, err := p.Wait()
	s.ok(err)
	s.judge(r, 1, "lease", "another process may have taken over")
	if took := time.Since(told); took > stopsWithin {
		s.Errorf("it took %s to stop:\n%s", took, r)
	}
	s.Logf("stopped %s after it went on: %s", time.Since(told).Round(time.Millisecond), lastLines(r.Stderr, 2))
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "; ")
}

// TestClockSkew lets two machines work whose clocks are ten minutes apart: the
// lease of a living holder is not taken, and that of a dead one is, in time.
func TestClockSkew(t *testing.T) {
	t.Parallel()
	results := &torture.Ledger{}
	t.Cleanup(func() { results.Write(t) })
	for _, c := range []struct {
		name   string
		holder time.Duration
	}{{"holder's clock ahead", skew}, {"holder's clock behind", -skew}} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			s := newScene(t, "skew", "my-db")
			row := torture.Row{Verb: "lease and clocks that differ", Where: c.name + " by 10 minutes", Result: "FAILED", Runs: 3,
				Gap: -1}
			defer func() { results.Add(row) }()
			s.create("my-db", "3.6", "1")
			there := s.elsewhere()
			holder := s.shifted(there, c.holder)
			args := []string{"scale", "my-db", "--members", "5", "--progress", "plain"}
			first, err := holder.Start(s.ctx, elsewhereLine(s.cli.Path, s.ns, args)...)
			s.ok(err)
			s.ok(untilSaid(s.ctx, first, "my-db-2"))
			s.judge(s.with(s.cli, "add-member", "my-db"), 5, "held by", "@elsewhere")
			s.ok(first.Signal(syscall.SIGKILL))
			if r, err := first.Wait(); err != nil || !r.Killed() {
				t.Fatalf("the holder did not live that long: %v\n%s", err, r)
			}
			second := s.begin(s.cli, args...)
			began := time.Now()
			s.ok(untilSaid(s.ctx, second, "plan:"))
			waited := time.Since(began)
			r, err := second.Wait()
			s.ok(err)
			if r.Code != 0 || !strings.Contains(r.Stderr, "taking over") {
				t.Fatalf("a dead holder is not taken over from:\n%s", r)
			}
			// The first observation, which comes before the plan, takes its time too.
			if waited < leaseTime-time.Second || waited > 2*leaseTime {
				t.Errorf("a dead holder was waited for for %s, not about %s:\n%s", waited, leaseTime, r)
			}
			t.Logf("took over after %s, done after %s", waited.Round(time.Millisecond), r.Duration.Round(time.Millisecond))
			s.healthy("my-db", 5)
			s.settledVolumes("my-db", 5)
			if !t.Failed() {
				row.Result = "ok, taken over after " + waited.Round(100*time.Millisecond).String()
			}
		})
	}
}

// shifted is the tool on a machine with another time: all that the tool knows
// of the time of day is what API servers tell it.
func (s *scene) shifted(cli harness.Command, by time.Duration) harness.Command {
	s.Helper()
	proxy, config := s.proxy()
	proxy.Shift(by)
	cli.Env = maps.Clone(cli.Env)
	cli.Env["KUBECONFIG"] = config
	return cli
}
