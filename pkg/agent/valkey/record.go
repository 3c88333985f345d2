//go:build linux

package valkey

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/process"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/resp"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/datadir"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/logfile"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/session"
)

const (
	// recorderName is how the server knows the agent that reads its stream.
	recorderName = "dbop-log"
	// recordPause is the time until the stream may be there, recordAgain the one after an attempt that failed.
	// acknowledgeTime is the time between two signs of life: the server ends what is silent for repl-timeout.
	recordPause     = 50 * time.Millisecond
	recordAgain     = time.Second
	acknowledgeTime = time.Second
	// logShare is which part of the volume files may take that wait for the archive, between leastLog and mostLog.
	logShare          = 8
	leastLog, mostLog = 64 << 20, 1 << 30
)

// recorder reads the stream of the server beside this agent, and writes it to files for the archive. The server takes
// it for a replica that has the beginning of the data.
type recorder struct {
	server *Server
	buffer *logfile.Buffer
	stop   context.CancelFunc
	ended  sync.WaitGroup
	// asked has a value once settings were taken: without a log there is nothing to wake up for until then.
	asked chan struct{}
	// promotion has a value once the server takes writes as the primary: they begin with a mark.
	promotion chan struct{}

	mu sync.Mutex
	// run is the run of the server that is read, at the offset of the cluster up to which it was.
	run *process.Process
	at  uint64
	// history is the one of that offset. Started says that files hold all from their beginning on: without it nothing is
	// written until the next cut, where all members begin a file.
	history string
	started bool
	scan    logfile.Scanner
	said    string
}

func startRecorder(s *Server) (*recorder, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(s.Directory, &fs); err != nil {
		return nil, fmt.Errorf("read the size of the volume: %w", err)
	}
	size := fs.Blocks * uint64(fs.Bsize) //nolint:gosec // the size of a block is positive
	most := int64(max(leastLog, min(mostLog, size/logShare)))
	buffer, err := logfile.Open(filepath.Join(s.Directory, "log"), most)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	r := &recorder{server: s, buffer: buffer, stop: stop, asked: make(chan struct{}, 1), promotion: make(chan struct{}, 1)}
	r.ended.Go(func() { r.loop(ctx) })
	r.ended.Go(func() { r.marks(ctx) })
	return r, nil
}

func (r *recorder) close() {
	r.stop()
	r.ended.Wait()
	r.buffer.Discard()
}

func (r *recorder) loop(ctx context.Context) {
	for ctx.Err() == nil {
		err := r.record(ctx)
		if errors.Is(err, errNoLog) {
			select {
			case <-ctx.Done():
			case <-r.asked:
			}
			continue
		}
		pause := recordPause
		if err != nil && !errors.Is(err, errNotNow) && ctx.Err() == nil {
			pause = recordAgain
			if err.Error() != r.said {
				r.said = err.Error()
				r.server.Report("the log is not read: " + r.said)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// ask has the recorder see whether a log is wanted.
func (r *recorder) ask() {
	select {
	case r.asked <- struct{}{}:
	default:
	}
}

// begin has a mark written soon: a moment after a failover has all in it that was written before.
func (r *recorder) begin() {
	select {
	case r.promotion <- struct{}{}:
	default:
	}
}

var (
	// errNotNow: there is no stream to read at the moment.
	errNotNow = errors.New("the server has no stream to read now")
	// errNoLog: no log is wanted, and no file of one is left, or no server runs of which that is known.
	errNoLog = errors.New("no log is wanted")
)

// situation is what of the server the recorder goes by.
type situation struct {
	run      *process.Process
	lineage  datadir.Lineage
	base     int64
	promoted bool
}

// situation is false where nothing is to be recorded.
func (r *recorder) situation() (now situation, on bool) {
	s := r.server
	s.mu.Lock()
	defer s.mu.Unlock()
	_, wanted := s.settings.Values[logTimeout]
	now = situation{run: s.proc, lineage: s.identity.Lineage, base: s.base, promoted: s.promoted > 0}
	return now, wanted && s.proc != nil && !s.making && (now.promoted || s.streamed)
}

// record reads the stream until it breaks or is not wanted any more.
func (r *recorder) record(ctx context.Context) (err error) {
	now, on := r.situation()
	if !on {
		return r.rest()
	}
	a, err := r.server.state(ctx)
	if err != nil || a.loading || a.primary != now.promoted || !a.primary && !a.linked {
		return errors.Join(errNotNow, err)
	}
	last, _ := now.lineage.After(uint64(a.offset + now.base)) //nolint:gosec // the log is far shorter
	if last.ID != a.id {
		return errNotNow // its promotion goes on
	}
	r.aim(now, a, last)
	if err := r.server.setRecording(ctx, true); err != nil {
		return err
	}
	c, err := r.open(ctx, a.id, int64(r.at)-now.base) //nolint:gosec // the log is far shorter
	if err == nil {
		err = r.read(ctx, c, now.run)
		_ = c.Close() // it broke, or is of no use any more
	}
	return errors.Join(err, r.server.setRecording(ctx, false))
}

// rest forgets the files once no log is wanted.
func (r *recorder) rest() error {
	s := r.server
	s.mu.Lock()
	_, wanted := s.settings.Values[logTimeout]
	known := s.proc != nil
	s.mu.Unlock()
	if wanted {
		return errNotNow
	}
	if known {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.buffer.Discard()
		r.run = nil
		if err := r.buffer.Keep(func(logfile.File) bool { return false }); err != nil {
			return errors.Join(errNotNow, err)
		}
	}
	return errNoLog
}

// aim chooses where to read on: where it was, as long as the server has that; at the beginning of a timeline, if it is
// this server that began it; or where the server is now.
func (r *recorder) aim(now situation, a answer, last datadir.Branch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	has := func(offset uint64) bool {
		number := int64(offset) - now.base + 1 //nolint:gosec // the log is far shorter
		return a.first > 0 && a.first <= number && number <= a.first+a.held
	}
	if r.run == now.run {
		if has(r.at) {
			return
		}
		r.server.Report("the log has a gap: the agent was too slow for the stream")
	}
	r.buffer.Discard()
	begins := r.run != now.run && now.promoted && has(last.Begin)
	r.run, r.history, r.started, r.scan = now.run, "", begins, logfile.Scanner{}
	r.at = uint64(a.offset + now.base) //nolint:gosec // the log is far shorter
	if begins {
		r.at = last.Begin
	} else {
		r.history = logfile.History(last.ID)
	}
}

// open has the server send what comes after one of its own offsets.
func (r *recorder) open(ctx context.Context, id string, after int64) (*session.Session, error) {
	s := r.server
	s.mu.Lock()
	password := s.secrets.stream
	s.mu.Unlock()
	c, err := session.Dial(ctx, s.socket(), streamUser, password)
	if err != nil {
		return nil, err
	}
	err = func() error {
		for _, command := range [][]string{
			{"REPLCONF", "ip-address", recorderName}, {"REPLCONF", "capa", "eof", "capa", "psync2"},
		} {
			if _, err := c.Do(ctx, command...); err != nil {
				return err
			}
		}
		answer, err := c.Do(ctx, "PSYNC", id, strconv.FormatInt(after+1, 10))
		if err == nil && answer != "CONTINUE "+id {
			err = fmt.Errorf("read the stream of the server after %d of %s: it answers %q", after, id, answer)
		}
		return err
	}()
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// read passes on what the server sends.
func (r *recorder) read(ctx context.Context, c *session.Session, run *process.Process) error {
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	p := make([]byte, 64<<10)
	var acknowledged time.Time
	for {
		now, on := r.situation()
		if !on || now.run != run {
			return errNotNow
		}
		if err := c.SetDeadline(time.Now().Add(acknowledgeTime / 2)); err != nil {
			return errNotNow
		}
		if time.Since(acknowledged) >= acknowledgeTime {
			// It holds nothing that counts for a client that waits.
			if _, err := c.Write(resp.Encode([]string{"REPLCONF", "ACK", "0"})); err != nil {
				return errNotNow // the server ended it
			}
			acknowledged = time.Now()
		}
		n, err := c.Read(p)
		// What comes now belongs to a branch that was written down before.
		if now, on = r.situation(); !on || now.run != run {
			return errNotNow
		}
		if failed := r.take(p[:n], now.lineage); failed != nil {
			return failed
		}
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return errNotNow // so it is at each promotion, for example
		}
	}
}
