//go:build linux

package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/disk"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/stream"
)

// Server is the PostgreSQL server beside an agent.
type Server struct {
	Config

	major    int
	upstream *stream.Upstream
	// Downstream passes the log of this server to the agents of its replicas.
	Downstream *stream.Downstream
	observer   connection
	changed    chan struct{}

	mu       sync.Mutex
	proc     *process
	identity identity
	floor    protocol.Generation
	// promoted is the generation for which this run of the server was, or is being, made a primary.
	promoted protocol.Generation
	// ready says that the promotion is complete: before that its timeline is still that of its predecessor.
	ready bool
	// set is the version of the synchronous set that is loaded, names its text, setAt the log's place after that.
	set   uint64
	names string
	setAt lsn
	// settings are those that the server's files hold.
	settings protocol.Settings
	// read says that this run of the server has used up the log that was on disk.
	read bool
	// stale is what the server said to have received of a timeline that it left: its records before the fork are whole.
	stale    lsn
	position protocol.Position
	flushed  protocol.Instant
	standbys []protocol.Streaming
	unfit    string
}

// Open prepares the volume. No process of the server may run.
func Open(c Config) (*Server, error) {
	s := &Server{Config: c, changed: make(chan struct{}, 1)}
	if err := c.prepare(); err != nil {
		return nil, err
	}
	var err error
	if s.major, err = c.major(); err != nil {
		return nil, err
	}
	if s.identity, err = readIdentity(c.data()); err != nil {
		return nil, err
	}
	var f floorFile
	if _, err = disk.Read(filepath.Join(c.Directory, "floor.json"), &f); err != nil {
		return nil, err
	}
	s.floor = f.Floor
	s.Downstream = &stream.Downstream{Socket: c.socket(c.Port), Serves: s.serves}
	if s.upstream, err = stream.Listen(c.socket(upstreamPort), c.socket(toolPort), c.Dial); err != nil {
		return nil, err
	}
	s.upstream.Ended = s.change
	s.observer = connection{conninfo: c.conninfo(c.Port, "dbname=postgres application_name=observer")}
	return s, nil
}

// Changed has a value when a process of the server ended, or what it streams from did.
func (s *Server) Changed() <-chan struct{} { return s.changed }

func (s *Server) change() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Close ends the sockets. The server is killed.
func (s *Server) Close() error {
	err := s.StopNow()
	s.observer.close()
	return errors.Join(err, s.upstream.Close())
}

// start runs the server in recovery, with the settings of a job, unless it runs.
func (s *Server) start(ctx context.Context, settings protocol.Settings) error {
	s.mu.Lock()
	running := s.proc
	s.mu.Unlock()
	if running != nil {
		select {
		case <-running.done:
		default:
			return nil
		}
	}
	if err := s.removeFillers(); err != nil {
		return err
	}
	if err := s.writeFiles(settings); err != nil {
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
	s.flushed, s.standbys, s.stale, s.ready = 0, nil, 0, false
	return nil
}

// ended notes that no process of a run is left.
func (s *Server) ended(p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == p {
		s.proc, s.promoted, s.ready, s.set, s.standbys = nil, 0, false, 0, nil
		s.upstream.Cut()
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

// running returns the present run of the server, or nil.
func (s *Server) running() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc
}

// raiseFloor writes to disk that no primary of an earlier generation is followed any more.
func (s *Server) raiseFloor(g protocol.Generation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g <= s.floor {
		return nil
	}
	if err := disk.Replace(filepath.Join(s.Directory, "floor.json"), floorFile{Floor: g}); err != nil {
		return err
	}
	s.floor = g
	return nil
}

// setIdentity writes what identifies the copy, and then counts on it.
func (s *Server) setIdentity(change func(*identity)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.identity
	change(&id)
	if err := writeIdentity(s.data(), id); err != nil {
		return err
	}
	s.identity = id
	return nil
}
