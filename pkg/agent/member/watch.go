package member

import (
	"context"
	"reflect"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/pulse"
)

// watch tells the protocol what the server does.
func (m *Member) watch(ctx context.Context) {
	var last protocol.Server
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		m.mu.Lock()
		changes := m.changes
		m.mu.Unlock()
		s := m.Server.Observe(ctx)
		m.mu.Lock()
		if changes == m.changes {
			m.tell(s)
			m.Deliver(seen{protocol.Observed{Server: s}, changes})
		}
		interval := observeBusy
		switch {
		case m.node.Hurries():
			interval = observeHurried
		case m.node.Quiet() && rests(last, s):
			interval = observeIdle
		}
		m.mu.Unlock()
		last = s
		timer.Reset(pulse.Next(interval))
		select {
		case <-ctx.Done():
			return
		case <-m.Server.Changed():
		case <-m.busy:
		case <-timer.C:
		}
	}
}

// rests says whether nothing happened to a server between two observations.
func rests(before, now protocol.Server) bool {
	if before.Position.Timeline != now.Position.Timeline || now.Position.Offset-before.Position.Offset > mostAtRest ||
		len(before.Standbys) != len(now.Standbys) {
		return false
	}
	for i := range now.Standbys {
		if before.Standbys[i].Standby != now.Standbys[i].Standby {
			return false
		}
	}
	before.Position, before.Flushed, before.Standbys, before.Lag = now.Position, now.Flushed, now.Standbys, now.Lag
	return reflect.DeepEqual(before, now)
}

// seen is an observation that counts only while no job began or ended.
type seen struct {
	protocol.Observed
	changes int
}
