//go:build linux

package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

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

// moveIn is the primary's part in a cluster that copies and follows a server outside of it, by logical replication.
// Until the cut over no client is let in: see hba.
type moveIn struct {
	server *Server
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
	// opened says that what a primary before this one may have closed at the source is open again.
	opened bool
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

// meetSource has a server that was just promoted follow the source of the cluster. Where there is none any more, what a
// primary before it left of that is removed.
func (s *Server) meetSource(ctx context.Context, of *protocol.Source) error {
	if of != nil {
		s.door.Shut()
		if err := s.meetMark(ctx); err != nil {
			return fmt.Errorf("follow %s: %w", of.Address, err)
		}
		return s.attach(ctx, *of)
	}
	got, err := s.once(ctx, "SELECT FROM pg_subscription WHERE subname = "+literal(subscription))
	if err != nil || len(got[0]) == 0 {
		return err
	}
	return s.forget(ctx)
}

// attach begins to follow a source, as long as this run of the server goes on.
func (s *Server) attach(ctx context.Context, of protocol.Source) error {
	p := s.running()
	m, err := s.newMoveIn(ctx, of)
	if err != nil {
		return err
	}
	loop, cancel := context.WithCancel(context.WithoutCancel(ctx))
	m.cancel = cancel
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc != p || p == nil {
		cancel()
		return fmt.Errorf("follow %s: the server ended", of.Address)
	}
	m.volume, s.moving = s.identity.Volume, m
	go m.run(loop)
	return nil
}

// leave ends the loop, without waiting for it, and all connections to the source. It is called under the lock.
func (s *Server) leave() {
	if s.moving != nil {
		s.moving.cancel()
		s.door.Shut()
		s.moving = nil
	}
}

func (s *Server) movesIn() *moveIn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.moving
}

func (m *moveIn) run(ctx context.Context) {
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
func (m *moveIn) say(err error) {
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
func (m *moveIn) tell(change func(*api.Source)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.told)
}

// follows says that all data was copied.
func (m *moveIn) follows() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.told.Following
}

// round does what comes next.
func (m *moveIn) round(ctx context.Context) error {
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
		m.opened = true
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
	m.server.door.Shut() // what an earlier copy subscribed to ends before its slots go on
	if now.Stage != "" {
		if err := m.server.writeMark(ctx, mark{}); err != nil {
			return err
		}
	}
	if err := m.server.unsubscribe(ctx); err != nil {
		return err
	}
	return m.copy(ctx)
}

// follow observes how far the source is followed. Where that does not go on, all data is copied again.
func (m *moveIn) follow(ctx context.Context, now mark) error {
	ctx, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	m.server.door.Open(m.source)
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
		return m.server.writeMark(ctx, mark{})
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

// observe asks the source what it holds.
func (m *moveIn) observe(ctx context.Context) error {
	most, err := m.most(ctx)
	if err != nil {
		return err
	}
	now, err := m.source.Survey(ctx, m.own, m.server.major, most)
	if err != nil {
		return err
	}
	m.survey, m.asked = now, time.Now()
	m.tell(func(t *api.Source) { t.Left = now.Left })
	return nil
}

// differs says what changed at the source that logical replication does not carry.
func (m *moveIn) differs(then mark, now source.Survey) error {
	var changed []string
	seen := map[string]bool{}
	for _, d := range now.Databases {
		seen[d.Name] = true
		before, known := then.Schemas[d.Name]
		if !known {
			changed = append(changed, fmt.Sprintf("the database %q is new", d.Name))
			continue
		}
		if kinds := m.changed(before, d.Schema); len(kinds) > 0 {
			changed = append(changed, fmt.Sprintf("definitions in the database %q: %s", d.Name, strings.Join(kinds, ", ")))
		}
	}
	for name := range then.Schemas {
		if !seen[name] {
			changed = append(changed, fmt.Sprintf("the database %q is gone, or closed", name))
		}
	}
	if len(changed) == 0 {
		return nil
	}
	slices.Sort(changed)
	if m.source.Kept {
		return fmt.Errorf("%s is not as it was at the cut over, and that does not come along: %s; there is no way back to "+
			"this cluster any more: delete it", m.source.Address, strings.Join(changed, "; "))
	}
	return fmt.Errorf("%s is not as it was copied, and that does not come along: %s; delete this cluster, and make "+
		"it again", m.source.Address, strings.Join(changed, "; "))
}

// changed names the kinds of definitions that differ. Roles of a source that is kept don't count.
func (m *moveIn) changed(before, now map[string]string) []string {
	kinds := source.Changed(before, now)
	if m.source.Kept {
		kinds = slices.DeleteFunc(kinds, func(kind string) bool { return kind == "roles" })
	}
	return kinds
}

func (m *moveIn) publication() string { return strings.TrimSuffix(m.own, "_") }

// slots are those of this cluster at the source.
type slots struct {
	// valid keep what comes next, active are being read.
	valid, active int
	// lag is how many bytes of the log of the source were not confirmed yet.
	lag int64
}

func (m *moveIn) slots(ctx context.Context, now mark) (out slots, err error) {
	got, err := m.ask(ctx, source.Maintenance, "SELECT count(*) FILTER (WHERE wal_status IS DISTINCT FROM 'lost'), "+
		"count(*) FILTER (WHERE active), max(pg_current_wal_lsn() - confirmed_flush_lsn)::bigint "+
		"FROM pg_replication_slots WHERE starts_with(slot_name, "+literal(m.slot(now, ""))+")")
	if err != nil {
		return out, err
	}
	number := func(i int) int64 {
		n, _ := strconv.ParseInt(got[0][0][i], 10, 64) // what is not there is 0
		return n
	}
	return slots{valid: int(number(0)), active: int(number(1)), lag: max(0, number(2))}, nil
}

// slot is the name of the one for a database, of a copy.
func (m *moveIn) slot(of mark, database string) string { return m.own + of.Copy + "_" + database }

// ask opens a session at the source for one message.
func (m *moveIn) ask(ctx context.Context, database, statements string) (rows, error) {
	c, err := m.source.Open(ctx, database)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Ask(ctx, statements)
}

// silent is for how long nothing came, by the subscription that heard of the source least.
func (m *moveIn) silent(ctx context.Context) (time.Duration, error) {
	got, err := m.server.once(ctx, "SELECT floor(extract(day FROM s) * 86400 + extract(hour FROM s) * 3600 + "+
		"extract(minute FROM s) * 60 + extract(second FROM s))::bigint FROM (SELECT max(clock_timestamp() - "+
		"last_msg_receipt_time) AS s FROM pg_stat_subscription WHERE relid IS NULL AND subname = "+
		literal(subscription)+") AS heard")
	if err != nil {
		return 0, err
	}
	seconds, _ := strconv.ParseInt(got[0][0][0], 10, 64) // nothing came yet
	return time.Duration(seconds) * time.Second, nil
}

// most is how many databases the server can follow at once: each takes a worker, and one copies tables.
func (m *moveIn) most(ctx context.Context) (int, error) {
	got, err := m.server.once(ctx, "SELECT least(current_setting('max_logical_replication_workers')::int, "+
		"current_setting('max_worker_processes')::int - 1) - 1")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(got[0][0][0])
}

// free is the room on the volume.
func (c Config) free() int64 {
	var of unix.Statfs_t
	if err := unix.Statfs(c.Directory, &of); err != nil {
		return 0
	}
	return int64(of.Bavail) * of.Bsize //nolint:gosec // no volume is that large
}
