//go:build linux

package valkey

import (
	"context"
	"errors"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/appendonly"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/datadir"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/session"
)

const (
	observeTimeout = 800 * time.Millisecond
	// idleLink is how long a replica may be linked without receiving anything before the link is made again. A primary
	// says something each second.
	idleLink = 6 * time.Second
	// persistTime is how often the place of a server that runs is written to disk.
	persistTime = time.Second
	// slack is what the server may have sent to replicas since the last note, besides what its files tell: that it is
	// there, and questions for how much they hold.
	slack = 1 << 20
)

// silence is how long a link may be without a word, under the lock. What comes of a source comes as it says it.
func (s *Server) silence() time.Duration {
	if s.identity.Source {
		return sourceSilence
	}
	return idleLink
}

// isAnswered says whether the server itself answered, with an error: it is alive.
func isAnswered(err error) bool {
	var answered session.AnswerError
	return errors.As(err, &answered)
}

// ask sends one command in a session of its own, so that it waits for nobody.
func (s *Server) ask(ctx context.Context, args ...string) (string, error) {
	c, err := s.enter(ctx)
	if err != nil {
		return "", err
	}
	defer c.Close() //nolint:errcheck // all was read
	return c.Do(ctx, args...)
}

// state asks the server.
func (s *Server) state(ctx context.Context) (answer, error) {
	ctx, stop := context.WithTimeout(ctx, observeTimeout)
	defer stop()
	text, err := s.observer.Do(ctx, "INFO", "replication", "persistence")
	if err != nil {
		return answer{}, err
	}
	return parseInfo(text)
}

// Observe returns the state of the server and of its data, within a second.
func (s *Server) Observe(ctx context.Context) protocol.Server {
	p := s.running()
	if p == nil {
		o := s.stopped()
		s.mu.Lock()
		defer s.mu.Unlock()
		o.Unread = o.Unread || s.unloaded
		return o
	}
	asked, before := s.Now(), appendonly.End(s.data())
	a, err := s.state(ctx)
	if err == nil && !a.loading {
		s.refreshUsers(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc != p {
		o := s.known()
		o.Unfit, o.Unread = "", true
		return o
	}
	if s.making {
		o := s.atRest()
		o.Role = protocol.Replica
		return o
	}
	if alive := err == nil && !a.pending || isAnswered(err); alive && s.promoted > 0 {
		s.flushed = asked
	}
	o := s.known()
	o.Role, o.Settings, o.Set, o.SetAt = protocol.Replica, s.settings.Version, s.set, s.setAt
	o.Upstream, o.Generation = s.upstream.Linked()
	if s.refused || s.upstream.Idle() > s.silence() {
		o.Upstream = ""
	}
	if s.promoted > 0 {
		o.Role, o.Generation, o.Upstream, o.Flushed = protocol.Primary, s.promoted, "", s.flushed
	}
	if err == nil {
		s.learn(a)
		s.persist(before)
	}
	o.Following, o.Behind = s.following != nil, s.following != nil && s.refused
	if s.promoted > 0 && err == nil && !a.primary && s.following == nil {
		o.Role, o.Generation, o.Flushed = protocol.Replica, 0, 0 // not yet
	}
	o.Position, o.Standbys = s.position, s.standbys
	o.Unread = s.promoted == 0 && (err != nil || a.loading)
	return o
}

// learn keeps what the server said, under the lock. What a server has loaded is known by where its data ended.
func (s *Server) learn(a answer) {
	if s.promoted == 0 && !s.streamed {
		if s.identity.End != nil {
			s.position = *s.identity.End
			s.base = int64(s.position.Offset) - a.offset //nolint:gosec // the log is far shorter
		}
		return
	}
	at := uint64(a.offset + s.base) //nolint:gosec // the log is far shorter
	s.position = protocol.Position{Timeline: s.identity.Lineage.At(at), Offset: at}
	s.standbys = nil
	for _, r := range a.standbys {
		r.Flushed = uint64(max(0, int64(r.Flushed)+s.base)) //nolint:gosec // the log is far shorter
		s.standbys = append(s.standbys, r)
	}
}

// persist writes down what the copy holds, now and then, under the lock, and where its files ended before that was
// asked for. What a server says without a write costs no flush of the disk.
func (s *Server) persist(before appendonly.Ending) {
	id := s.identity
	at, noted := s.position.Offset, appendonly.Ending{First: id.Growing, Size: id.Appended}
	if id.End != nil || time.Since(s.persisted) < persistTime ||
		before == noted && at >= id.Seen && at-id.Seen < slack/2 {
		return
	}
	appendonly.Note(&id, s.position.Offset, before)
	if err := datadir.WriteIdentity(s.data(), id); err == nil { // a full disk: what is there still holds
		s.identity, s.persisted = id, time.Now()
	}
}

// known is what holds whether the server runs or not.
func (s *Server) known() protocol.Server {
	return protocol.Server{System: s.identity.System, Volume: s.identity.Volume, CopiedIn: s.identity.CopiedIn,
		Floor: s.floor.Generation(), Unfit: s.unfit}
}

// stopped tells of a copy in which no server runs.
func (s *Server) stopped() protocol.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.atRest()
}

// atRest does that under the lock. After a stop in order the end is known. A primary that ended without an order holds
// all that anybody holds of its timeline: it counts more than it can hold, unless the machine may have forgotten some
// of it. A replica that did may hold more than it wrote down, and so it says nothing where that could matter.
func (s *Server) atRest() protocol.Server {
	o := s.known()
	id := s.identity
	if o.Volume == "" {
		return o
	}
	o.Unread = true
	if !exists(datadir.Manifest(s.data())) {
		o.Unfit = "the append-only files of the server are gone: make the copy again, on request"
		return o
	}
	at := id.Seen
	switch {
	case id.End != nil:
		o.Position, o.Unread = *id.End, false
		return o
	case id.Primary && (id.Flushed || id.Boot == s.boot):
		at += 4*appendonly.Grown(s.data(), id) + slack
	case id.Primary, s.settings.Durability == protocol.Async:
	default:
		return o
	}
	o.Position, o.Unread = protocol.Position{Timeline: id.Lineage.At(at), Offset: at}, false
	return o
}
