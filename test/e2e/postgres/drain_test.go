//go:build e2e

package postgres

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

const (
	// drainedWithin bounds a drain that nothing holds up.
	drainedWithin = time.Minute
	// heldFor is how long a drain is tried that would take a majority away.
	heldFor = 15 * time.Second
	// handedOverWithin is the longest time without a row when the primary's pod is evicted.
	handedOverWithin = 10 * time.Second
)

// TestDrain drains the nodes of a pair under a client that writes. The node with one member lets go at once; the node
// with a member and the witness does once the witness was moved, and before that the budget keeps the majority there.
func TestDrain(t *testing.T) {
	s := newScene(t, "drain")
	if _, err := s.site.Machine(); errors.Is(err, harness.ErrNoMachine) {
		t.Skip(err)
	}
	release := s.releases(17)[0]
	s.create(release, "2")
	s.healthy(2)
	node, other := s.shared.Leads(1)
	w := s.write(release)
	drained := func(node string) {
		t.Helper()
		began := time.Now()
		if !s.shared.Drained(node, drainedWithin) {
			t.Fatalf("%s is not drained", node)
		}
		w.goesOn("clients write after " + node + " was drained")
		if gap := w.gap(began); gap > handedOverWithin {
			t.Errorf("no row was acknowledged for %s", gap)
		} else {
			t.Logf("drained: no row was acknowledged for %s", gap)
		}
	}

	first := s.primary()
	drained(node)
	if now := s.primary(); now == first {
		t.Errorf("%s is still the primary", now)
	}
	if r := s.try("diagnose", "db"); !strings.Contains(r.Stdout, "kubectl uncordon") {
		t.Errorf("diagnose does not tell what a member waits for:\n%s", r.Stdout)
	}
	s.shared.Uncordon(node)
	s.healthy(2)
	if !torture.Full() {
		w.check()
		return // make torture goes on
	}

	began := time.Now()
	if s.shared.Drained(other, heldFor) {
		t.Errorf("two of three voters were evicted from %s", other)
	}
	w.goesOn("clients write while a drain waits")
	t.Logf("a drain that waits: no row was acknowledged for %s", w.gap(began))
	s.shared.Uncordon(other)
	s.healthy(2)

	s.kubectl("cordon", other)
	s.must("member", "replace", "db", s.shared.Member("witness"), "--force", "--yes")
	drained(other)
	s.shared.Uncordon(other)
	s.healthy(2)
	s.must("switchover", "db")
	s.must("restart", "db")
	w.goesOn("clients write after all of it")
	w.check()
}
