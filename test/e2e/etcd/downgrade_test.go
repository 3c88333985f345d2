//go:build e2e

package etcd

import (
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
)

const (
	// pauseBar is the longest that a client may wait while members restart one after the other.
	pauseBar = 2 * time.Second
	// restFor is how long clients are watched before; a machine on which they
	// wait longer than busy then is one.
	restFor = 5 * time.Second
	busy    = 200 * time.Millisecond
)

// TestDowngradeUnderLoad goes down from 3.7 to 3.5, a minor at a time, and up
// again to 3.6, while clients are at work.
func TestDowngradeUnderLoad(t *testing.T) {
	s := newScene(t, "downgrade", "my-db")
	s.create("my-db", "3.7", "3")
	s.refused(4, []string{"one minor at a time", "--version 3.6, then", "--version 3.5"}, "downgrade", "my-db",
		"--version", "3.5")
	l := s.underLoad("my-db", torture.Seed(t))
	l.within(pauseBar, "downgrade", "my-db", "--version", "3.6")
	s.runs("my-db", "3.6.")
	l.within(pauseBar, "downgrade", "--version", "3.5")
	s.runs("my-db", "3.5.")
	s.unchanged("upgrade", "my-db", "--version", "3.5")
	s.refused(4, []string{"only from 3.6 on", "restore"}, "downgrade", "my-db", "--version", "3.4")
	l.do("upgrade", "my-db", "--version", "3.6")
	s.runs("my-db", "3.6.")
	l.end()
	s.healthy("my-db", 3)
}

// TestDowngradeCancelled dies after one member has moved, and steps back:
// the member comes up again, and the cluster can grow as before.
func TestDowngradeCancelled(t *testing.T) {
	s := newScene(t, "cancel", "my-db")
	s.create("my-db", "3.6", "3")
	l := s.underLoad("my-db", torture.Seed(t))
	if r := s.with(s.mortal("after:downgrade-member"), "downgrade", "my-db", "--version", "3.5"); !r.Killed() {
		t.Fatalf("expected it to die once a member has moved:\n%s", r)
	}
	l.within(pauseBar, "cancel", "my-db")
	s.runs("my-db", "3.6.")
	l.end()
	s.healthy("my-db", 3)
	s.says(s.must("history", "my-db"), "downgrade", "Cancelled")
	s.must("add-member", "my-db")
	s.healthy("my-db", 4)
}

// within is do with a bound on how long clients may have had to wait. Where
// they wait while nothing is done, the machine is too busy to tell.
func (l *load) within(bar time.Duration, args ...string) {
	l.s.Helper()
	rest := time.Now()
	time.Sleep(restFor)
	from := time.Now()
	noise := l.writer.LongestGap(rest, from)
	l.do(args...)
	if gap := l.writer.LongestGap(from, time.Now()); gap > bar && noise > busy {
		l.s.Logf("%v: clients waited %s, but up to %s before it began", args, gap.Round(time.Millisecond),
			noise.Round(time.Millisecond))
	} else if gap > bar {
		l.s.Errorf("%v: clients waited %s, the bar is %s", args, gap.Round(time.Millisecond), bar)
	}
}

// runs asks for healthy members of a series.
func (s *scene) runs(name, series string) {
	s.Helper()
	for _, m := range s.status(name).Members {
		if !strings.HasPrefix(m.Version, series) {
			s.Errorf("%s runs %s, wanted %s", m.Name, m.Version, series)
		}
	}
}
