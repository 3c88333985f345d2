//go:build e2e

package etcd

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// TestLostInTheMiddle loses a follower's volume in the middle of an upgrade and
// of a downgrade: neither way is open then, and a replacement takes over.
func TestLostInTheMiddle(t *testing.T) {
	t.Parallel()
	if !torture.Full() {
		t.Skip("takes minutes, the long form has it: DBOP_TORTURE=all; the planner's tables and the simulation " +
			"have it in every run")
	}
	for _, c := range []struct{ name, from, verb, to, runs, again, then string }{
		{"upgrade", "3.5", "upgrade", "3.6", "upgrade-member", "3.6", "3.6."},
		{"downgrade", "3.7", "downgrade", "3.6", "downgrade-member", "3.7", "3.7."},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t, "lost", "my-db")
			s.create("my-db", c.from, "3")
			if r := s.with(s.mortal("after:"+c.runs), c.verb, "my-db", "--version", c.to); !r.Killed() {
				t.Fatalf("expected it to die once a member has moved:\n%s", r)
			}
			lost := ""
			s.ok(harness.Until(s.ctx, settledWithin, "one member to have moved, and a follower that has not",
				func(context.Context) error {
					moved := 0
					for _, m := range s.status("my-db").Members {
						switch {
						case m.Role != "leader" && m.Role != "follower":
							return fmt.Errorf("%s is %s", m.Name, m.Role)
						case strings.HasPrefix(m.Version, c.to+"."):
							moved++
						case m.Role == "follower":
							lost = m.Name
						}
					}
					if moved != 1 || lost == "" {
						return fmt.Errorf("%d have moved, %q has not", moved, lost)
					}
					return nil
				}))
			s.destroy(lost)
			s.refused(9, []string{lost}, "resume", "my-db")
			s.refused(5, []string{"is not finished", "cancel"}, "member", "replace", "my-db", lost, "--yes")
			s.refused(9, []string{lost, "member replace my-db " + lost}, "cancel", "my-db")
			s.must("member", "replace", "my-db", lost, "--yes")
			s.healthy("my-db", 3)
			s.must("upgrade", "my-db", "--version", c.again, "--skip-backup")
			s.runs("my-db", c.then)
			s.healthy("my-db", 3)
		})
	}
}
