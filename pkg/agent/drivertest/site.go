//go:build linux

package drivertest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// Site has members whose agents reach each other.
type Site struct {
	t       *testing.T
	dir     string
	mu      sync.Mutex
	members map[protocol.MemberID]*Member
}

// NewSite makes one with short paths: a socket's is bounded.
func NewSite(t *testing.T) *Site {
	t.Helper()
	dir, err := os.MkdirTemp("", "db") //nolint:usetesting // that one's name is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return &Site{t: t, dir: dir, members: map[protocol.MemberID]*Member{}}
}

// Member prepares a member. Its volume is kept from one of its name to the next. Nobody reaches it before Join.
func (s *Site) Member(id protocol.MemberID) *Member {
	return &Member{T: s.t, ID: id, site: s, began: time.Now()}
}

func (s *Site) member(id protocol.MemberID) *Member {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.members[id]
}

// Directory is the volume of the member, Sockets where its sockets are.
func (m *Member) Directory() string { return filepath.Join(m.site.dir, string(m.ID)) }

// Sockets is a directory of its own.
func (m *Member) Sockets() string { return filepath.Join(m.site.dir, "s"+string(m.ID)) }

// Now counts from the start of the member.
func (m *Member) Now() protocol.Instant { return protocol.Instant(time.Since(m.began)) }

// Report goes to the log of the test, and is kept for Reports.
func (m *Member) Report(what string) {
	m.T.Logf("%s reports: %s", m.ID, what)
	m.site.mu.Lock()
	defer m.site.mu.Unlock()
	m.reports = append(m.reports, what)
}

// Reports is how often this member reported something that contains these words.
func (m *Member) Reports(words string) (n int) {
	m.site.mu.Lock()
	defer m.site.mu.Unlock()
	for _, r := range m.reports {
		if strings.Contains(r, words) {
			n++
		}
	}
	return n
}

// Dial connects to the agent of another member.
func (m *Member) Dial(to protocol.MemberID) (net.Conn, error) {
	other := m.site.member(to)
	if other == nil {
		return nil, fmt.Errorf("no member %s", to)
	}
	ours, theirs := net.Pipe()
	go func() {
		other.driver.Handle(m.ID, theirs)
		_ = theirs.Close()
	}()
	return ours, nil
}

// Serves says whether the test made this member the primary of a generation.
func (m *Member) Serves(g protocol.Generation, _ protocol.MemberID) bool {
	m.site.mu.Lock()
	defer m.site.mu.Unlock()
	return m.Serving == g
}
