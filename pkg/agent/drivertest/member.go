//go:build linux

package drivertest

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// Driver is what is tested.
type Driver interface {
	Observe(ctx context.Context) protocol.Server
	Do(ctx context.Context, job protocol.Job, valid func() bool) error
	Handle(from protocol.MemberID, conn net.Conn)
	Close() error
}

// Member is a member of a test: its driver, and what it may do.
type Member struct {
	T  *testing.T
	ID protocol.MemberID
	// Serving is the generation of which it may be the primary.
	Serving protocol.Generation

	site   *Site
	driver Driver
	began  time.Time
	// reports are kept under the lock of the site.
	reports []string
}

// Join has the other members reach the driver. It is closed with the test.
func (m *Member) Join(d Driver) {
	m.driver = d
	m.T.Cleanup(func() { _ = d.Close() })
	m.site.mu.Lock()
	defer m.site.mu.Unlock()
	m.site.members[m.ID] = m
}

// Must performs a job that must succeed.
func (m *Member) Must(job protocol.Job) protocol.Server {
	m.T.Helper()
	if err := m.Try(job); err != nil {
		m.T.Fatalf("%s: %s: %v", m.ID, job.Kind, err)
	}
	return m.driver.Observe(m.T.Context())
}

// Try performs a job under a lease that lasts.
func (m *Member) Try(job protocol.Job) error {
	ctx, stop := context.WithTimeout(m.T.Context(), time.Minute)
	defer stop()
	return m.driver.Do(ctx, job, func() bool { return true })
}

// Serve makes a member the primary of a generation.
func (m *Member) Serve(g protocol.Generation, timeline uint64, set protocol.SyncSet) protocol.Server {
	m.T.Helper()
	m.Serving = g
	return m.Must(protocol.Job{Kind: protocol.Promote, Generation: g, Timeline: timeline, Set: set})
}

// Wait polls until something holds.
func (m *Member) Wait(what string, holds func(protocol.Server) bool) protocol.Server {
	m.T.Helper()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		o := m.driver.Observe(m.T.Context())
		if holds(o) {
			return o
		}
		if time.Since(began) > time.Minute {
			m.T.Fatalf("%s: waited in vain: %s; it is %+v", m.ID, what, o)
		}
	}
}
