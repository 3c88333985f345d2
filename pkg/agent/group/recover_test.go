package group

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/disk"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestRecover begins another incarnation at one of three members, also if a crash interrupts that.
func TestRecover(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	groups := s.openAll()
	s.wait("a leader", func() bool { return leader(groups) != nil })
	s.found(groups[0])
	m1 := groups[0]
	if err := m1.Recover("next"); err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
	}
	again := m1.config
	if _, err := Open(again); err == nil || !strings.Contains(err.Error(), "start it with the token of the new one") {
		t.Fatalf("it comes back to the incarnation that it left: %v", err)
	}
	for _, crashed := range []bool{false, true, false} {
		if crashed {
			path := recoveryFile(filepath.Clean(again.Directory))
			if err := disk.Replace(path, recovery{From: "token", To: "next"}); err != nil {
				t.Fatal(err)
			}
		}
		g := s.open("m1", func(c *Config) { c.Token, c.Bootstrap = "next", nil })
		s.wait("it leads alone", func() bool { return leader([]*Group{g}) != nil })
		s.mu.Lock()
		d := s.documents["m1"]
		if d.Token != "next" || len(d.Members) != 1 || len(d.Removed) != 2 || len(d.Voters) != 1 {
			t.Errorf("the document begins with %s, members %v, without %v, voters %v", d.Token, d.Members,
				d.Removed, d.Voters)
		}
		s.mu.Unlock()
		start := uint64(100)
		if crashed {
			start++
		}
		e := &protocol.Joined{Member: "m1", Start: start, Level: 1}
		s.agreed(g, e, func(d *protocol.Document) bool { return d.Members["m1"].Start >= start }, "m1")
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
