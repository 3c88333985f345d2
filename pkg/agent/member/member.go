// Package member runs one member: it hands the events of the group and of the server to the protocol, and does what the
// protocol asks for.
package member

import (
	"context"
	"sync"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// Server is the driver of an engine: all that the agent knows of the database beside it.
type Server interface {
	// Observe returns the state of the server and of its data. It answers within a second, whatever the server does.
	Observe(ctx context.Context) protocol.Server
	// Do performs a job, and returns when it is done, or soon after the context ended. Valid says whether the lease still
	// allows writes; a promotion asks right before each act that a client could notice. After StopNow and StopFast no
	// process of the server is left, or Observe says so.
	Do(ctx context.Context, job protocol.Job, valid func() bool) error
	// Changed has a value when the server should be observed at once: a process of it ended, or its upstream did.
	Changed() <-chan struct{}
}

// Group is what a member needs of the group of agents.
type Group interface {
	Propose(e protocol.Entry)
	GiveVote(id protocol.MemberID)
	TakeVote(id protocol.MemberID)
	StepDown()
	Tell(p protocol.Position)
}

// Guard kills the server at the deadline. Set returns once it keeps the deadline.
type Guard interface {
	Set(d protocol.SetDeadline) error
}

const (
	tick = 150 * time.Millisecond
	// observe is how often the server is observed besides: a primary's standbys come and go without a word.
	observe = 400 * time.Millisecond
	// retryPause is the time between two attempts of a job.
	retryPause = 200 * time.Millisecond
)

// Member is one member of a cluster.
type Member struct {
	Group  Group
	Server Server
	Guard  Guard
	// Now reads CLOCK_BOOTTIME.
	Now func() protocol.Instant
	// Report takes what a person should know.
	Report func(string)

	events queue

	mu   sync.Mutex
	node *protocol.Node
	// changes counts the starts and ends of jobs: what was observed before one of them is not told after it.
	changes int
	cancel  context.CancelFunc
	ended   chan struct{}
	jobs    sync.WaitGroup
}

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

// Run runs the member until the context is done, or until its guard is gone. It does not stop the server: the guard
// does.
func (m *Member) Run(ctx context.Context, node *protocol.Node) error {
	m.events.mu.Lock()
	m.events.more = make(chan struct{}, 1)
	more := m.events.more
	m.events.mu.Unlock()
	m.mu.Lock()
	m.node = node
	m.mu.Unlock()
	ctx, stop := context.WithCancel(ctx)
	defer m.jobs.Wait()
	defer stop()
	m.jobs.Go(func() { m.watch(ctx) })
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		for _, e := range m.events.take() {
			if err := m.step(ctx, e); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-more:
		case <-ticker.C:
			if err := m.step(ctx, protocol.Tick{}); err != nil {
				return err
			}
		}
	}
}

// Ask takes a request for another primary.
func (m *Member) Ask(i protocol.Intent) { m.Deliver(protocol.Switchover{Intent: i}) }

// View calls a function with the node, while nothing happens to it.
func (m *Member) View(look func(*protocol.Node)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.node != nil {
		look(m.node)
	}
}

// watch tells the protocol what the server does.
func (m *Member) watch(ctx context.Context) {
	ticker := time.NewTicker(observe)
	defer ticker.Stop()
	for {
		m.mu.Lock()
		changes := m.changes
		m.mu.Unlock()
		s := m.Server.Observe(ctx)
		m.mu.Lock()
		if changes == m.changes {
			m.Group.Tell(s.Position)
			m.Deliver(seen{protocol.Observed{Server: s}, changes})
		}
		m.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-m.Server.Changed():
		case <-ticker.C:
		}
	}
}

// seen is an observation that counts only while no job began or ended.
type seen struct {
	protocol.Observed
	changes int
}

// jobEnd is the end of a job.
type jobEnd struct {
	protocol.Done
	server protocol.Server
	number int
}

func (m *Member) step(ctx context.Context, e protocol.Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	events := []protocol.Event{e}
	switch e := e.(type) {
	case seen:
		if e.changes != m.changes {
			return nil
		}
		events = []protocol.Event{e.Observed}
	case jobEnd:
		if e.number != m.changes {
			return nil // another job started since
		}
		m.changes++
		m.Group.Tell(e.server.Position)
		events = []protocol.Event{protocol.Observed{Server: e.server}, e.Done}
	}
	for _, e := range events {
		for _, effect := range m.node.Step(m.Now(), e) {
			if err := m.perform(ctx, effect); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *Member) perform(ctx context.Context, effect protocol.Effect) error {
	switch effect := effect.(type) {
	case protocol.Propose:
		m.Group.Propose(effect.Entry)
	case protocol.SetDeadline:
		return m.Guard.Set(effect)
	case protocol.Disarm:
		return m.Guard.Set(protocol.SetDeadline{Unlimited: true})
	case protocol.Do:
		m.start(ctx, effect.Job)
	case protocol.GiveVote:
		m.Group.GiveVote(effect.Member)
	case protocol.TakeVote:
		m.Group.TakeVote(effect.Member)
	case protocol.StepDown:
		m.Group.StepDown()
	case protocol.Refuse:
		m.Report("refused: " + effect.Why)
	}
	return nil
}

// start ends the job before it, waits for that, and then runs the job.
func (m *Member) start(ctx context.Context, job protocol.Job) {
	before := m.ended
	if m.cancel != nil {
		m.cancel()
	}
	m.changes++
	number := m.changes
	ctx, m.cancel = context.WithCancel(ctx)
	ended := make(chan struct{})
	m.ended = ended
	m.jobs.Go(func() {
		defer close(ended)
		if before != nil {
			<-before
		}
		if err := m.Server.Do(ctx, job, func() bool { return m.valid(job.Generation) }); err != nil && ctx.Err() == nil {
			m.Report(string(job.Kind) + ": " + err.Error())
			select { // it is asked for again at once
			case <-ctx.Done():
			case <-time.After(retryPause):
			}
		}
		m.Deliver(jobEnd{Done: protocol.Done{Job: job}, server: m.Server.Observe(ctx), number: number})
	})
}

func (m *Member) valid(g protocol.Generation) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.node.Leased(g, m.Now())
}
