//go:build linux

package valkey

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/disk"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/process"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/stream"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/datadir"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/session"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/wire"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/volume"
)

// Server is the Valkey or Redis server beside an agent.
type Server struct {
	Config

	product      product
	upstream     *stream.Upstream
	upstreamPort int
	// downstream passes the data of this server to the agents of its replicas.
	downstream *stream.Downstream
	observer   session.Connection
	changed    chan struct{}
	boot       string
	// users is held while the server takes users.
	users sync.Mutex

	mu       sync.Mutex
	proc     *process.Process
	secrets  secrets
	identity datadir.Identity
	// making is a copy that the server receives aside: the one in place stays as it is.
	making bool
	// refused says that a primary wanted to replace all data of the copy in place.
	refused bool
	// streamed says that this run received from a primary: only then it can go on from where it is.
	streamed bool
	// following is the source that the server of this primary follows.
	following *protocol.Source
	// otherName says that this run of the server knows its upstream by another name.
	otherName bool
	floor     volume.Floor
	// promoted is the generation for which this run of the server was, or is being, made a primary; ready says that it is
	// complete.
	promoted protocol.Generation
	ready    bool
	// base is added to an offset of the server: offsets of a cluster go on where those of a server begin at 0 again.
	base int64
	// set is the version of the synchronous set that is loaded, setAt the offset after that, copies who is in it.
	set, setAt uint64
	copies     map[string]bool
	all        bool
	settings   protocol.Settings
	position   protocol.Position
	flushed    protocol.Instant
	standbys   []protocol.Streaming
	persisted  time.Time
	unfit      string
	// unloaded says that how much the copy holds is to be told, and no server has loaded it for that yet.
	unloaded bool
	// stopping is the run that this agent ends, crashes are when others ended lately.
	stopping *process.Process
	crashes  []time.Time
	// refreshed is when the file of users was read, usersError what was wrong with it.
	refreshed time.Time
	// accounts are the users that the tool made, need is how many standbys must acknowledge.
	accounts map[string]account
	need     int
	// pending are settings that this run of the server would take only at its next start.
	pending    []string
	usersError string

	source source
	// moving says that users are brought where they belong.
	moving bool
	// recording says that the agent reads the stream of this run, and so counts as a replica.
	recording bool
	// confirmedForks are those that the archive has.
	confirmedForks []string
	archivedLog    archivedLog

	// least is held while min-replicas-to-write is set.
	least sync.Mutex
	log   *recorder
}

// Open prepares the volume. No process of the server may run.
func Open(c Config) (*Server, error) {
	s := &Server{Config: c, changed: make(chan struct{}, 1), boot: boot(), source: source{secret: c.SourceSecret}}
	if err := errors.Join(c.prepare(), c.repairCopy(), c.adopt()); err != nil {
		return nil, err
	}
	var err error
	if s.product, err = c.product(); err != nil {
		return nil, err
	}
	if s.identity, err = datadir.ReadIdentity(c.data()); err != nil {
		return nil, err
	}
	if s.floor, err = volume.OpenFloor(c.Directory); err != nil {
		return nil, err
	}
	if _, err = disk.Read(s.accountsFile(), &s.accounts); err != nil {
		return nil, err
	}
	s.downstream = &stream.Downstream{
		Open: s.openStream, Serves: s.serves, Filter: s.filter, Facts: s.facts, Changed: s.change,
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the server beside this agent: %w", err)
	}
	s.upstreamPort = l.Addr().(*net.TCPAddr).Port
	s.upstream = stream.New(l, nil, c.Dial)
	s.upstream.Ended, s.upstream.Greet, s.upstream.Watch = s.change, s.greet, s.watch
	s.upstream.External = s.source.stream
	s.upstream.Start()
	s.source.asked.Open = s.source.enter
	s.observer = session.Connection{Open: s.enter}
	if s.log, err = startRecorder(s); err != nil {
		return nil, errors.Join(err, s.upstream.Close())
	}
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

// Handle takes a connection of the agent of a replica.
func (s *Server) Handle(from protocol.MemberID, conn net.Conn) { s.downstream.Handle(from, conn) }

// Close ends the sockets. The server is killed.
func (s *Server) Close() error {
	err := s.StopNow()
	s.observer.Close()
	s.source.asked.Close()
	s.log.close()
	return errors.Join(err, s.upstream.Close())
}

// enter opens a session of the agent.
func (s *Server) enter(ctx context.Context) (*session.Session, error) {
	s.mu.Lock()
	password := s.secrets.agent
	s.mu.Unlock()
	return session.Dial(ctx, s.socket(), agentUser, password)
}

// openStream opens a session for a replica.
func (s *Server) openStream() (net.Conn, error) {
	s.mu.Lock()
	password := s.secrets.stream
	s.mu.Unlock()
	ctx, stop := context.WithTimeout(context.Background(), session.AskTime)
	defer stop()
	c, err := session.Dial(ctx, s.socket(), streamUser, password)
	if err != nil {
		return nil, err
	}
	return c, c.SetDeadline(time.Time{})
}

func (s *Server) greet(server net.Conn) (net.Conn, error) {
	s.mu.Lock()
	password := s.secrets.upstream
	s.mu.Unlock()
	return wire.Greet(server, password)
}

// watch keeps a primary from replacing all data, unless the server receives a copy aside.
func (s *Server) watch(primary net.Conn) net.Conn {
	return wire.Watch(primary, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.refused = s.refused || !s.making
		return s.making
	})
}

// filter has the acknowledgements of a copy count once the set with it is loaded.
func (s *Server) filter(copied string, replica net.Conn) net.Conn {
	return wire.Count(replica, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.all || s.copies[copied]
	})
}

// start runs the server in a copy of the data, as a replica of nobody, unless it runs. Base is added to its offsets.
func (s *Server) start(ctx context.Context, data string, id datadir.Identity, settings protocol.Settings,
	from origin,
) error {
	s.mu.Lock()
	running := s.proc
	if running == nil {
		s.secrets = newSecrets()
	}
	s.mu.Unlock()
	if running != nil {
		return errors.New("start the server: it runs")
	}
	s.observer.Close()
	name := volume.CopyName(protocol.Standby{Member: s.ID, Volume: id.Volume})
	if err := s.writeUsers(); err != nil {
		return err
	}
	if err := disk.ReplaceBytes(filepath.Join(s.Sockets, "password"), []byte(s.secrets.person)); err != nil {
		return err
	}
	if err := errors.Join(s.writeConf(data, name, id, settings, from), removeSocket(s.socket()), ctx.Err()); err != nil {
		return err
	}
	cmd := exec.Command(s.Program, s.confFile()) //nolint:gosec // the program is ours
	cmd.Dir = db(data)
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := process.Start(cmd, s.Others, s.line, s.ended)
	if err != nil {
		return err
	}
	s.proc, s.promoted, s.ready, s.set, s.setAt, s.unfit = p, 0, false, 0, 0, ""
	s.flushed, s.standbys, s.copies, s.all, s.refused, s.streamed, s.pending = 0, nil, nil, false, false, false, nil
	s.otherName, s.following, s.recording = false, nil, false
	s.settings = settings
	s.log.ask()
	return nil
}

func removeSocket(path string) error {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("start the server: %w", err)
	}
	return nil
}

func (s *Server) line(text string) {
	_, _ = fmt.Fprintln(s.Log, text)
}

// ended notes that no process of a run is left.
func (s *Server) ended(p *process.Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == p {
		s.crashed(p)
		s.proc, s.promoted, s.ready, s.set, s.standbys, s.making = nil, 0, false, 0, nil, false
		s.following = nil
		s.upstream.Cut()
	}
	s.change()
}

// serves says whether a member may have the data of a generation.
func (s *Server) serves(g protocol.Generation, to protocol.MemberID) bool {
	s.mu.Lock()
	ready := s.ready && s.promoted == g
	s.mu.Unlock()
	return ready && s.Serves(g, to)
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

// setIdentity writes what identifies the copy in place, and then counts on it.
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
