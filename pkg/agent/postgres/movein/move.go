//go:build linux

package movein

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/source"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

const (
	// moveInterval is the time between two questions to the source, schemaInterval that between two about its definitions.
	moveInterval   = time.Second
	schemaInterval = 10 * time.Second
	// askTime bounds the questions.
	askTime = 10 * time.Second
	// subscription is the name of the one in each database.
	subscription = "dbop_source"
)

// Move is the primary's part in a cluster that copies and follows a server outside of it, by logical replication.
// Until the cut over its agent lets no client in.
type Move struct {
	server Server
	source source.Source
	// own is how names begin that this cluster gives at the source: publications and slots.
	own string
	// volume is that of the copy that this primary has.
	volume string
	cancel context.CancelFunc
	// ended is closed when the loop is over.
	ended chan struct{}
	// busy holds something while somebody changes something: one round of the loop, or a cut over. Who waits for the loop
	// comes before its next round, however long its rounds take.
	busy chan struct{}
	// survey is what the source held when it was copied, or this primary asked it first.
	survey source.Survey
	asked  time.Time
	// opened says that what a primary before this one, or a cut over that came to nothing, may have closed at the source
	// is open again.
	opened bool
	// held identifies the databases of the source as the last cut over closed them, once all that was written there is
	// here; nil before that, and from when on they may be open again.
	held map[string]string
	// closed says that the last cut over that was asked for closed the source itself.
	closed bool
	// way is what was prepared for the way back; nil for nothing.
	way *wayBack
	// linked says that the subscriptions go by the door of this member, and reads are the slots that they read, of a
	// source that is kept.
	linked bool
	reads  []string

	mu   sync.Mutex
	told api.Source
}

// unfitError says why a source can't be followed as it is.
type unfitError []string

// Error names all reasons.
func (e unfitError) Error() string { return "the source can't be followed: " + strings.Join(e, "; ") }

// New is the part of a server in following a source. It does nothing before Start.
func (s Server) New(ctx context.Context, of protocol.Source) (*Move, error) {
	got, err := s.Once(ctx, "SELECT system_identifier FROM pg_control_system()")
	if err != nil {
		return nil, fmt.Errorf("follow %s: %w", of.Address, err)
	}
	return &Move{server: s, busy: make(chan struct{}, 1), source: source.Source{Source: of, Secret: s.Secret},
		own: "dbop_" + got[0][0][0] + "_", ended: make(chan struct{}), told: api.Source{Address: of.Address}}, nil
}

// Start begins to follow, until End or the end of the context. The volume is that of the copy of the data.
func (m *Move) Start(ctx context.Context, volume string) {
	ctx, m.cancel = context.WithCancel(ctx)
	m.volume = volume
	go m.run(ctx)
}

// End ends the loop, without waiting for it, and all connections to the source.
func (m *Move) End() {
	m.cancel()
	m.server.Door.Shut()
}

func (m *Move) run(ctx context.Context) {
	defer close(m.ended)
	tick := time.NewTicker(moveInterval)
	defer tick.Stop()
	for {
		m.busy <- struct{}{}
		err := m.round(ctx)
		<-m.busy
		if ctx.Err() != nil {
			return
		}
		m.say(err)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// say keeps what keeps the data from coming, nil for nothing, and reports what is new.
func (m *Move) say(err error) {
	problem := ""
	if err != nil {
		problem = err.Error()
	}
	_, refused := errors.AsType[unfitError](err)
	m.mu.Lock()
	before := m.told.Problem
	m.told.Problem, m.told.Refused = problem, refused
	m.mu.Unlock()
	if problem != "" && problem != before {
		m.server.Report(problem)
	}
}

// tell changes what is told of the source.
func (m *Move) tell(change func(*api.Source)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.told)
}

// round does what comes next.
func (m *Move) round(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	now, err := m.server.readMark(ctx)
	if err != nil {
		return err
	}
	if err := m.enter(ctx); err != nil {
		return noReturn(err)
	}
	if !m.opened {
		// A cut over of a primary before this one can't be agreed on any more: it counts in its generation alone.
		if err := m.reopen(ctx, now); err != nil {
			return err
		}
		if now, err = m.server.readMark(ctx); err != nil {
			return err
		}
	}
	own := now.Address == m.source.Address && now.Volume == m.volume
	switch {
	case m.source.Kept && now.Stage != stageCloses && now.Stage != stageHolds:
		return m.roundBack(ctx, now)
	case now.Address == m.source.Address && (now.Stage == stageCloses || now.Stage == stageHolds):
		m.tell(func(t *api.Source) { t.Following, t.Linked = true, true })
		return fmt.Errorf("a cut over from %s was started, and its databases are closed: ask for the cut over again",
			m.source.Address)
	case own && now.Stage == stageFollows:
		return m.follow(ctx, now)
	}
	m.tell(func(t *api.Source) { t.Following, t.Linked = false, false })
	m.server.Door.Shut() // what an earlier copy subscribed to ends before its slots go on
	if now.Stage != "" {
		if err := m.server.writeMark(ctx, mark{Made: now.Made}); err != nil {
			return err
		}
	}
	if err := m.server.unsubscribe(ctx); err != nil {
		return err
	}
	return m.copy(ctx, now.Made)
}

// follow observes how far the source is followed. Where that does not go on, all data is copied again.
func (m *Move) follow(ctx context.Context, now mark) error {
	ctx, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	m.server.Door.Open(m.source)
	slots, err := m.slots(ctx, now)
	if err != nil {
		m.tell(func(t *api.Source) { t.Following, t.Linked = true, false })
		return err
	}
	if slots.valid < len(now.Schemas) && m.source.Kept {
		return m.continues(ctx, now)
	}
	if slots.valid < len(now.Schemas) {
		m.server.Report("the source does not keep any more what comes next: all of its data is copied")
		return m.server.writeMark(ctx, mark{Made: now.Made})
	}
	silent, err := m.silent(ctx)
	if err != nil {
		return err
	}
	m.tell(func(t *api.Source) {
		t.Following, t.Linked, t.Lag, t.Silent, t.Received = true, slots.active == len(now.Schemas), slots.lag, silent, 0
	})
	if time.Since(m.asked) < schemaInterval {
		return m.differs(now, m.survey)
	}
	if err := m.observe(ctx); err != nil {
		return err
	}
	return m.differs(now, m.survey)
}
