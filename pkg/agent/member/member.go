// Package member runs one member: it hands the events of the group and of the server to the protocol, and does what the
// protocol asks for.
package member

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/pulse"
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
	Tell(t protocol.Told)
}

// Guard kills the server at the deadline. Set returns once it keeps the deadline.
type Guard interface {
	Set(d protocol.SetDeadline) error
}

const (
	// tick is the interval of ticks, and calmTick the one while nothing is at work: to wake up is what an agent at rest
	// pays for, and it wakes up that often anyway to hear from the others. Deadlines are kept by the guard.
	tick     = 200 * time.Millisecond
	calmTick = 2 * tick
	// observeBusy is how often the server is observed while something changes, observeHurried during a switchover, and
	// observeIdle at rest. The end of a process or of a stream is told at once.
	observeBusy    = 200 * time.Millisecond
	observeHurried = 50 * time.Millisecond
	observeIdle    = time.Second
	// mostAtRest is by how many bytes of its log a server at rest advances from one observation to the next.
	mostAtRest = 64 << 10
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
	// Route, if it is set, takes the way of clients after each event. It must not block.
	Route func(protocol.Route)

	events queue
	// lastStep is an Instant.
	lastStep atomic.Int64

	mu   sync.Mutex
	node *protocol.Node
	// busy has a value when the server is observed at once, because the protocol began something.
	busy chan struct{}
	// changes counts the starts and ends of jobs: what was observed before one of them is not told after it.
	changes int
	// failing is why the last job that failed did, and failed its kind; "" since one of that kind succeeded, or the
	// server ran.
	failing string
	failed  protocol.JobKind
	// told is what the others were told last.
	told   protocol.Told
	cancel context.CancelFunc
	ended  chan struct{}
	jobs   sync.WaitGroup
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
	m.busy = make(chan struct{}, 1)
	ctx, stop := context.WithCancel(ctx)
	defer m.jobs.Wait()
	defer stop()
	m.jobs.Go(func() { m.watch(ctx) })
	timer, calm := time.NewTimer(pulse.Next(tick)), false
	defer timer.Stop()
	for {
		for _, e := range m.events.take() {
			if err := m.step(ctx, e); err != nil {
				return err
			}
		}
		if calm && !m.quiet() {
			calm = false
			timer.Reset(pulse.Next(tick))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-more:
		case <-timer.C:
			if err := m.step(ctx, protocol.Tick{}); err != nil {
				return err
			}
			interval := tick
			if calm = m.quiet(); calm {
				interval = calmTick
			}
			timer.Reset(pulse.Next(interval))
		}
	}
}

func (m *Member) quiet() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.node.Quiet()
}

// Ask takes a request for another primary.
func (m *Member) Ask(i protocol.Intent) { m.Deliver(protocol.Switchover{Intent: i}) }

// Reinit asks for the copy of this member to be made again.
func (m *Member) Reinit() { m.Deliver(protocol.Reinit{}) }

// View calls a function with the node, while nothing happens to it.
func (m *Member) View(look func(*protocol.Node)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.node != nil {
		look(m.node)
	}
}

// Failing says why what was last asked of the server failed, with what it printed; "" since that succeeded, or the
// server ran.
func (m *Member) Failing() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failing
}

// LastStep is when the loop took an event last; 0 before it runs. It never waits for the loop.
func (m *Member) LastStep() protocol.Instant { return protocol.Instant(m.lastStep.Load()) }

func (m *Member) step(ctx context.Context, e protocol.Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lastStep.Store(int64(m.Now()))
	quiet := m.node.Quiet()
	defer func() {
		if quiet && !m.node.Quiet() {
			select {
			case m.busy <- struct{}{}:
			default:
			}
		}
	}()
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
		m.tell(e.server)
		events = []protocol.Event{protocol.Observed{Server: e.server}, e.Done}
	}
	for _, e := range events {
		for _, effect := range m.node.Step(m.Now(), e) {
			if err := m.perform(ctx, effect); err != nil {
				return err
			}
		}
	}
	m.lead()
	return nil
}

// lead has clients go the present way, and tells the others once new ones wait here.
func (m *Member) lead() {
	r := m.node.Route(m.Now())
	if m.Route != nil {
		m.Route(r)
	}
	if !r.Hold {
		r.Generation = 0
	}
	if m.told.Holds != r.Generation {
		m.told.Holds = r.Generation
		m.Group.Tell(m.told)
	}
}

// tell tells the others of the server.
func (m *Member) tell(s protocol.Server) {
	holds := m.told.Holds
	m.told = s.Told()
	m.told.Holds = holds
	m.Group.Tell(m.told)
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
