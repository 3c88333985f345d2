//go:build linux

package postgres

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/datadir"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/process"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/volume"
)

const (
	observeTimeout = 800 * time.Millisecond
	// idleLink is how long a replica may be linked without receiving anything before the link is made again: it may have
	// to be rewound.
	idleLink = 6 * time.Second
)

// question asks a server for its state: of all, and of a primary's standbys.
const question = `SELECT pg_is_in_recovery(),
 CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_flush_lsn() END,
 CASE WHEN pg_is_in_recovery() THEN pg_last_wal_receive_lsn() END,
 (SELECT count(*) FROM pg_stat_wal_receiver),
 current_setting('synchronous_standby_names'),
 CASE WHEN pg_is_in_recovery() THEN pg_is_wal_replay_paused() END,
 (SELECT latest_end_lsn FROM pg_stat_wal_receiver WHERE status = 'streaming'),
 (SELECT pid FROM pg_stat_wal_receiver WHERE status = 'streaming'),
 (SELECT (extract(day FROM past) * 86400 + extract(hour FROM past) * 3600 + extract(minute FROM past) * 60
   + floor(extract(second FROM past)))::bigint FROM (SELECT now() - pg_last_xact_replay_timestamp() AS past) AS last);
SELECT application_name, flush_lsn FROM pg_stat_replication WHERE state = 'streaming' AND flush_lsn IS NOT NULL
 ORDER BY 1`

// answer is what a server says of itself.
type answer struct {
	recovering    bool
	end, received datadir.LSN
	receiving     bool
	synchronous   string
	// paused says that it applies no log: somebody asked for that, or the log needs higher settings than it has.
	paused   bool
	standbys []protocol.Streaming
	// told is where the log of the primary ends, as it said last to the process receiver, if one streams.
	told     datadir.LSN
	receiver string
	// past is how long ago the last transaction ended that it applied, by the clocks of both machines; 0 for none.
	past time.Duration
}

// state asks the server.
func (s *Server) state(ctx context.Context) (answer, error) {
	ctx, stop := context.WithTimeout(ctx, observeTimeout)
	defer stop()
	got, err := s.observer.Ask(ctx, question)
	if err != nil {
		return answer{}, err
	}
	row := got[0][0]
	a := answer{recovering: row[0] == "t", receiving: row[3] != "0", synchronous: row[4], paused: row[5] == "t"}
	if a.end, err = datadir.ParseLSN(row[1]); err != nil && row[1] != "" {
		return answer{}, err
	}
	if a.received, err = datadir.ParseLSN(row[2]); err != nil && row[2] != "" {
		return answer{}, err
	}
	if a.told, err = datadir.ParseLSN(row[6]); err != nil && row[6] != "" {
		return answer{}, err
	}
	a.receiver = row[7]
	if past, err := strconv.ParseInt(row[8], 10, 64); err == nil { // there may be none
		a.past = time.Duration(max(past, 0)) * time.Second
	}
	for _, r := range got[1] {
		at, err := datadir.ParseLSN(r[1])
		if err != nil {
			return answer{}, err
		}
		if standby, ok := volume.ParseCopyName(r[0]); ok {
			a.standbys = append(a.standbys, protocol.Streaming{Standby: standby, Flushed: uint64(at)})
		}
	}
	return a, nil
}

var errStops = errors.New("the server was asked to stop")

// stateOf asks a run of the server that was not asked to stop: one that was lets nobody in, and each question would
// only start a process that says so.
func (s *Server) stateOf(ctx context.Context, p *process.Process) (answer, error) {
	s.mu.Lock()
	asked := s.asked == p
	s.mu.Unlock()
	if asked {
		return answer{}, errStops
	}
	return s.state(ctx)
}

// Observe returns the state of the server and of its data, within a second.
func (s *Server) Observe(ctx context.Context) protocol.Server {
	p := s.running()
	if p == nil {
		return s.stopped()
	}
	s.hasten(p)
	a, err := s.stateOf(ctx, p)
	if err == nil {
		s.sweep(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc != p {
		o := s.base()
		return protocol.Server{Volume: o.Volume, CopiedIn: o.CopiedIn, Floor: o.Floor, Unread: true}
	}
	o := s.base()
	if c, err := datadir.ReadControl(s.pgdata()); err == nil {
		o.System = c.System
	}
	o.Role, o.Settings, o.Set, o.SetAt = protocol.Replica, s.settings.Version, s.set, uint64(s.setAt)
	if s.reloading {
		o.Settings = 0
	}
	o.Upstream, o.Generation = s.upstream.Linked()
	if s.upstream.Idle() > idleLink {
		o.Upstream = ""
	}
	if s.promoted > 0 {
		o.Role, o.Generation, o.Upstream, o.Flushed = protocol.Primary, s.promoted, "", s.flushed
		o.Following = s.moving != nil
	}
	if s.lowering {
		o.Role, o.Generation, o.Flushed = protocol.Replica, 0, 0 // it starts once more before it serves
	}
	if err != nil {
		o.Position, o.Unread = s.position, s.promoted == 0
		o.Standbys = s.standbys
		return o
	}
	s.learn(a)
	o.Lag = s.lag
	if s.promoted > 0 && a.recovering {
		o.Role, o.Generation, o.Flushed = protocol.Replica, 0, 0 // not yet
	}
	o.Position, o.Standbys, o.Unread = s.position, s.standbys, s.promoted == 0 && !s.read || s.identity.Rewinding
	if s.promoted > 0 && a.synchronous != s.names {
		o.Set = 0 // somebody changed it: it is loaded again
	}
	o.Unfit, o.Broken = s.unfit, s.unfit != "" && s.identity.Rewinding
	return o
}

// learn keeps what the server said, under the lock.
func (s *Server) learn(a answer) {
	if a.recovering && !s.read && (s.upstream.Waiting() || a.receiving) {
		s.read = true
	}
	end := a.end
	if a.recovering && a.received != s.stale {
		s.stale = 0
		end = max(end, a.received)
	}
	timeline := s.identity.Lineage.At(end)
	s.position = protocol.Position{Timeline: timeline, Offset: uint64(end)}
	s.standbys = a.standbys
	s.moved()
	s.lag = 0
	if a.recovering {
		s.lag = s.age.of(a, s.Now())
	}
}

// base is what holds whether the server runs or not.
func (s *Server) base() protocol.Server {
	return protocol.Server{Volume: s.identity.Volume, CopiedIn: s.identity.CopiedIn, Floor: s.floor.Generation(),
		Unfit: s.unfit, Broken: s.unfit != "" && s.identity.Rewinding}
}

// stopped tells of a data directory without a server. Its position is known only after a stop in order.
func (s *Server) stopped() protocol.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.base()
	if o.Volume == "" {
		return o
	}
	o.Unread = true
	c, err := datadir.ReadControl(s.pgdata())
	if err != nil {
		o.Unfit = err.Error()
		return o
	}
	o.System = c.System
	if end, ok := s.cleanEnd(c); ok {
		o.Position, o.Unread = protocol.Position{Timeline: s.identity.Lineage.At(end), Offset: uint64(end)}, false
	}
	return o
}

// cleanEnd returns the end of the log of a primary that was stopped in order.
func (s *Server) cleanEnd(c datadir.Control) (datadir.LSN, bool) {
	if !c.Shutdown || s.identity.Rewinding || c.Timeline != s.identity.Lineage.Timeline {
		return 0, false
	}
	end, err := c.End(s.pgdata())
	return end, err == nil
}
