package group

import (
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestHasten: a group that nobody can lead yet does not wait for the word of a leader.
func TestHasten(t *testing.T) {
	t.Parallel()
	const long = 20 * time.Second
	for name, members := range map[string][]protocol.MemberID{"one": {"m1"}, "three": initialMembers} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			began := time.Now()
			var groups []*Group
			for _, id := range members {
				groups = append(groups, s.open(id, func(c *Config) { c.Bootstrap, c.Election = members, long }))
			}
			for groups[0].Leader() != "m1" {
				if time.Since(began) > long/2 {
					t.Fatalf("after %s the leader is %q", time.Since(began), groups[0].Leader())
				}
				time.Sleep(10 * time.Millisecond)
			}
			t.Logf("led after %s", time.Since(began))
		})
	}
}
