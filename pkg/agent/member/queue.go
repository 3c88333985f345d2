package member

import (
	"sync"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// queue keeps events in order. It never blocks who adds one.
type queue struct {
	mu     sync.Mutex
	events []protocol.Event
	more   chan struct{}
}

// Deliver takes an event of the group. It may come before Run.
func (m *Member) Deliver(e protocol.Event) {
	q := &m.events
	q.mu.Lock()
	defer q.mu.Unlock()
	q.events = append(q.events, e)
	if q.more != nil {
		select {
		case q.more <- struct{}{}:
		default:
		}
	}
}

func (q *queue) take() []protocol.Event {
	q.mu.Lock()
	defer q.mu.Unlock()
	events := q.events
	q.events = nil
	return events
}
