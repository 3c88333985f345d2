//go:build linux

package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/disk"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/datadir"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/floors"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/logfiles"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/movein"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/source"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/process"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/stream"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/volume"
)

// Server is the PostgreSQL server beside an agent.
type Server struct {
	Config

	release  string
	upstream *stream.Upstream
	// Downstream passes the log of this server to the agents of its replicas.
	Downstream *stream.Downstream
	observer   local.Session
	// door leads to the source.
	door *source.Door
	// volume tells how large the volume is.
	volume disk.Gauge
	// unconfirmed counts commits that no replica confirmed.
	unconfirmed unconfirmed
	changed     chan struct{}
	// hurried has a value when a primary is probed at once.
	hurried chan struct{}
	// files are those of the log that wait for the archive.
	files *logfiles.Files

	mu   sync.Mutex
	proc *process.Process
	// asked is the run of the server that was asked to stop.
	asked    *process.Process
	identity datadir.Identity
	floor    volume.Floor
	// promoted is the generation for which this run of the server was, or is being, made a primary.
	promoted protocol.Generation
	// ready says that the promotion is complete: before that its timeline is still that of its predecessor.
	ready bool
	// set is the version of the synchronous set that is loaded, names its text, setAt the log's place after that.
	set   uint64
	names string
	setAt datadir.LSN
	// settings are those that the server's files hold.
	settings protocol.Settings
	// reloading says that the server may not have read them yet.
	reloading bool
	// pending are settings that this run of the server would take only at its next start.
	pending []string
	// lowering says that this promotion starts the server once more.
	lowering bool
	// launched are those with a floor, as this run of the server has them.
	launched floors.Values
	// read says that this run of the server has used up the log that was on disk.
	read bool
	// stale is what the server said to have received of a timeline that it left: its records before the fork are whole.
	stale    datadir.LSN
	position protocol.Position
	// lag is how old the data of a replica is, and age what is known of that.
	lag     time.Duration
	age     age
	flushed protocol.Instant
	// swept is when the sessions of roles that are gone were ended last.
	swept    protocol.Instant
	standbys []protocol.Streaming
	unfit    string
	// gone is where this copy was when the primary no longer had what it needs next.
	gone protocol.Position
	// orders is what is known of the versions of collations.
	orders orders
	// sizes are the last that the server told.
	sizes sizes
	// moving is the part of this primary in following a source; nil if there is none.
	moving *movein.Move
	// barred says that no client is let in, open that this run of the server may have let one in.
	barred, open bool
}

// Open prepares the volume. No process of the server may run.
func Open(c Config) (*Server, error) {
	if err := c.prepare(); err != nil {
		return nil, err
	}
	release, major, err := c.version()
	if err != nil {
		return nil, err
	}
	c.Major = major
	s := &Server{Config: c, release: release, changed: make(chan struct{}, 1), hurried: make(chan struct{}, 1),
		volume: disk.Gauge{Directory: c.Directory}}
	s.files = &logfiles.Files{Server: c.Server, Pgdata: c.pgdata(), Kept: filepath.Join(c.data(), "kept-log"),
		Saved: filepath.Join(c.Directory, "kept-log"), Report: c.Report}
	if err = c.adopt(); err != nil {
		return nil, err
	}
	if s.identity, err = datadir.ReadIdentity(c.data()); err != nil {
		return nil, err
	}
	if s.floor, err = volume.OpenFloor(c.Directory); err != nil {
		return nil, err
	}
	s.Downstream = &stream.Downstream{Socket: c.Socket(c.Port), Serves: s.serves, Facts: s.facts, Changed: s.change}
	if s.upstream, err = stream.Listen(c.Socket(local.UpstreamPort), c.Socket(local.ToolPort), c.Dial); err != nil {
		return nil, err
	}
	s.upstream.Ended = s.change
	if s.door, err = source.Listen(c.Socket(local.SourcePort)); err != nil {
		return nil, err
	}
	s.observer = local.Session{Conninfo: c.Session(c.Port, "postgres", "observer")}
	return s, nil
}

// Release is the version of the server's program, such as "15.18".
func (s *Server) Release() string { return s.release }

// Changed has a value when a process of the server ended, or what it streams from did.
func (s *Server) Changed() <-chan struct{} { return s.changed }

func (s *Server) change() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Handle takes a connection of the agent of a replica, which asks for the log of this server.
func (s *Server) Handle(from protocol.MemberID, conn net.Conn) { s.Downstream.Handle(from, conn) }

// Close ends the sockets. The server is killed.
func (s *Server) Close() error {
	err := s.StopNow()
	s.observer.Close()
	return errors.Join(err, s.upstream.Close(), s.door.Close())
}

// start runs the server in recovery, with the settings of a job, unless it runs.
func (s *Server) start(ctx context.Context, settings protocol.Settings) error {
	s.mu.Lock()
	running := s.proc
	s.mu.Unlock()
	if running != nil && !running.Over() {
		return nil
	}
	if err := s.removeFillers(); err != nil {
		return err
	}
	if err := s.files.Reset(); err != nil {
		return err
	}
	values, err := s.values(settings)
	if err != nil {
		return err
	}
	if err := s.writeFiles(settings, values); err != nil {
		return err
	}
	for name, wanted := range map[string]bool{"standby.signal": true, "recovery.signal": false} {
		path := filepath.Join(s.pgdata(), name)
		if wanted {
			if err := disk.ReplaceBytes(path, nil); err != nil {
				return err
			}
		} else if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("start the server: %w", err)
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.launch()
	if err != nil {
		return err
	}
	s.proc, s.promoted, s.set, s.setAt, s.read, s.unfit = p, 0, 0, 0, false, ""
	s.flushed, s.standbys, s.stale, s.ready, s.pending = 0, nil, 0, false, nil
	s.lag, s.age = 0, age{}
	s.launched, s.open = floors.Asked(values), !s.barred
	return nil
}

// ended notes that no process of a run is left.
func (s *Server) ended(p *process.Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == p {
		s.proc, s.promoted, s.ready, s.set, s.standbys = nil, 0, false, 0, nil
		s.upstream.Cut()
		s.leave()
	}
	s.change()
}

// serves says whether a member may have the log of a generation.
func (s *Server) serves(g protocol.Generation, to protocol.MemberID) bool {
	s.mu.Lock()
	ready := s.ready && s.promoted == g
	s.mu.Unlock()
	return ready && s.Serves(g, to)
}

// setBarred says whether clients are let in. It counts once the server has read its files.
func (s *Server) setBarred(yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.barred = yes
	s.open = s.open || !yes
}

// bar starts a server again that may have let clients in: as a primary that follows a source it lets nobody in.
func (s *Server) bar(ctx context.Context) error {
	s.setBarred(true)
	s.mu.Lock()
	starts := s.proc != nil && s.open
	s.mu.Unlock()
	if !starts {
		return nil
	}
	return s.stopFast(ctx)
}

// running returns the present run of the server, or nil.
func (s *Server) running() *process.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc
}

// raiseFloor writes to disk that no primary of an earlier generation is followed any more.
func (s *Server) raiseFloor(g protocol.Generation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.floor.Raise(g)
}

// setIdentity writes what identifies the copy, and then counts on it.
func (s *Server) setIdentity(change func(*datadir.Identity)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.identity
	change(&id)
	if err := datadir.WriteIdentity(s.data(), id); err != nil {
		return err
	}
	s.identity = id
	return nil
}
