//go:build e2e

package e2e

import (
	"errors"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// TestAPIServerRestarts kills the API server in the middle of a change, which
// rides it out. One that is away for longer than the lease ends the command,
// which is then typed again. It disturbs every cluster there is, so nothing
// runs beside it.
func TestAPIServerRestarts(t *testing.T) {
	s := newLoneScene(t, "api", "my-db")
	machine, err := s.site.Machine()
	if errors.Is(err, harness.ErrNoMachine) {
		t.Skip(err)
	}
	s.ok(err)
	seed := seed(t)
	results := &ledger{seed: seed}
	t.Cleanup(func() { results.write(t) })
	s.create("my-db", "3.5", "3")
	l := s.underLoad("my-db", seed)
	for _, c := range []struct {
		name, said string
		args       []string
		members    int
	}{
		{"scale 3 to 5", "Register my-db-5", []string{"scale", "my-db", "--members", "5"}, 5},
		{"upgrade of 5", "Restart my-db-", []string{"upgrade", "my-db", "--version", "3.6", "--skip-backup"}, 5},
	} {
		row := row{verb: "API server restarted", where: "in the middle of " + c.name, result: "FAILED", runs: 1}
		began := time.Now()
		p := s.begin(s.cli, append(c.args, "--progress", "plain")...)
		s.ok(untilSaid(s.ctx, p, c.said))
		killed := time.Now()
		s.ok(machine.Cluster(s.ctx, "component", "restart", "kube-apiserver", "--away", "1s"))
		away := time.Since(killed)
		r, err := p.Wait()
		s.ok(err)
		if r.Code != 0 {
			s.judge(r, 1, "lease")
			if away < leaseTime-leaseTime/3 {
				t.Fatalf("it does not ride out an API server that is away for %s:\n%s", away, r)
			}
			row.runs++
			r = s.must(c.args...)
		}
		row.gap = l.writer.LongestGap(began, time.Now())
		t.Logf("%s: the API server was away for %s, all was done after %s, longest write gap %s",
			c.name, away.Round(time.Millisecond), time.Since(began).Round(time.Millisecond), row.gap.Round(time.Millisecond))
		s.healthy("my-db", c.members)
		s.settledVolumes("my-db", c.members)
		if !t.Failed() {
			row.result = "ok, away for " + away.Round(time.Second).String()
		}
		results.add(row)
	}
	l.end()
}
