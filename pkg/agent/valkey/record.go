//go:build linux

package valkey

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/process"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/resp"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/datadir"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/logfile"
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
	size := fs.Blocks * uint64(fs.Bsize)                                                                              //nolint:gosec // the size of a block is positive
	buffer, err := logfile.Open(filepath.Join(s.Directory, "log"), int64(max(leastLog, min(mostLog, size/logShare)))) //nolint:gosec // bounded
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	r := &recorder{server: s, buffer: buffer, stop: stop}
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

// errNotNow: there is no stream to read at the moment.
var errNotNow = errors.New("the server has no stream to read now")

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
	if !wanted && known {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.buffer.Discard()
		r.run = nil
		return errors.Join(errNotNow, r.buffer.Keep(func(logfile.File) bool { return false }))
	}
	return errNotNow
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
func (r *recorder) open(ctx context.Context, id string, after int64) (*session, error) {
	s := r.server
	s.mu.Lock()
	password := s.secrets.stream
	s.mu.Unlock()
	c, err := dial(ctx, s.socket(), streamUser, password)
	if err != nil {
		return nil, err
	}
	err = func() error {
		for _, command := range [][]string{
			{"REPLCONF", "ip-address", recorderName}, {"REPLCONF", "capa", "eof", "capa", "psync2"},
		} {
			if _, err := c.do(ctx, command...); err != nil {
				return err
			}
		}
		answer, err := c.do(ctx, "PSYNC", id, strconv.FormatInt(after+1, 10))
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
func (r *recorder) read(ctx context.Context, c *session, run *process.Process) error {
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	p := make([]byte, 64<<10)
	var acknowledged time.Time
	for {
		now, on := r.situation()
		if !on || now.run != run {
			return errNotNow
		}
		if time.Since(acknowledged) >= acknowledgeTime {
			// It holds nothing that counts for a client that waits.
			if _, err := c.Write(resp.Encode([]string{"REPLCONF", "ACK", "0"})); err != nil {
				return errNotNow // the server ended it
			}
			acknowledged = time.Now()
		}
		if err := c.SetDeadline(time.Now().Add(acknowledgeTime / 2)); err != nil {
			return errNotNow
		}
		n, err := c.in.Read(p)
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

// take adds a piece of the stream to the files.
func (r *recorder) take(p []byte, lineage datadir.Lineage) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(p) > 0 {
		of, end := lineage.After(r.at)
		if of.ID == "" {
			return errNotNow
		}
		place := uint64(int64(r.at) - of.Base) //nolint:gosec // the log is far shorter
		if history := logfile.History(of.ID); history != r.history {
			if err := r.seal(); err != nil {
				return err
			}
			if !r.scan.Between() {
				return r.lose(fmt.Errorf("a timeline begins within a command, at %d", r.at))
			}
			r.history, r.started = history, true
		}
		if r.started && !r.buffer.Writing() {
			if err := r.buffer.Begin(r.history, place); err != nil {
				return r.lose(err)
			}
		}
		part := p[:min(uint64(len(p)), end-r.at)]
		if r.started {
			part = part[:min(len(part), r.buffer.Room())]
		}
		n, err := r.pass(part)
		r.at += uint64(n) //nolint:gosec // it is positive
		if err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// pass adds a piece up to the end of a command, of one history and one file.
func (r *recorder) pass(p []byte) (int, error) {
	n, whole, err := r.scan.Next(p)
	if err != nil {
		return n, r.lose(err)
	}
	if r.started {
		if _, err := r.buffer.Write(p[:n]); err != nil {
			return n, r.lose(err)
		}
	}
	cut := r.started && r.buffer.Room() == 0
	if whole {
		if m, ok := r.scan.Mark(); ok {
			r.buffer.Mark(m.Time)
			cut = cut || m.Cut
		}
	}
	if cut {
		err = r.seal()
		r.started = true
	}
	return n, err
}

// seal completes the file that was begun.
func (r *recorder) seal() error {
	if err := r.buffer.Seal(); err != nil {
		return r.lose(err)
	}
	return nil
}

// lose gives up the file that was begun. What was written down last counts, and the stream is read again from the
// beginning of the timeline, or from the next cut on.
func (r *recorder) lose(err error) error {
	r.buffer.Discard()
	r.run = nil
	return fmt.Errorf("write the log: %w", err)
}

// finishTime bounds the wait for the end of the stream when the server stops.
const finishTime = 2 * time.Second

// finish completes the files of a primary that takes no writes any more, where its data ends.
func (r *recorder) finish(ctx context.Context, end uint64) {
	if _, on := r.situation(); !on {
		return
	}
	ctx, stop := context.WithTimeout(ctx, finishTime)
	defer stop()
	for ctx.Err() == nil {
		r.mu.Lock()
		done := r.at >= end
		if done {
			if err := r.seal(); err != nil {
				r.server.Report(err.Error())
			}
		}
		r.mu.Unlock()
		if done {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Millisecond):
		}
	}
	r.server.Report("the end of the log was not read before the server stopped")
}

// marks has the server of a primary write the time into its stream each second.
func (r *recorder) marks(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var last time.Time
	var cut *process.Process
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s := r.server
		s.mu.Lock()
		run, on := s.proc, s.ready && s.promoted > 0 && s.recording
		every, err := parseLogTimeout(s.settings.Values[logTimeout])
		s.mu.Unlock()
		if !on || err != nil {
			continue
		}
		due := run != cut || time.Since(last) >= every-time.Second/2
		asking, stop := context.WithTimeout(ctx, observeTimeout)
		_, err = s.ask(asking, logfile.MarkCommand(due)...)
		stop()
		if err == nil && due {
			last, cut = time.Now(), run
		}
	}
}

// setRecording counts the agent that reads the stream among the replicas that must be there, as the server does: before
// it connects, and until the server knows that it left. So it never stands in for a replica.
func (s *Server) setRecording(ctx context.Context, on bool) error {
	p := s.running()
	if p == nil {
		return errNotNow
	}
	if !on {
		ctx, stop := context.WithTimeout(ctx, askTime)
		defer stop()
		if err := s.until(ctx, p, "end the reading of the log", func(a answer) bool { return !a.recorded }); err != nil {
			return err
		}
	}
	s.mu.Lock()
	same := s.proc == p
	if same {
		s.recording = on
	}
	s.mu.Unlock()
	if !same {
		return errNotNow
	}
	return s.setLeast(ctx)
}

// setLeast sets how many replicas must be there for a write.
func (s *Server) setLeast(ctx context.Context) error {
	s.least.Lock()
	defer s.least.Unlock()
	s.mu.Lock()
	need := s.need
	if need > 0 && s.recording {
		need++
	}
	s.mu.Unlock()
	_, err := s.ask(ctx, "CONFIG", "SET", leastReplicas, strconv.Itoa(need))
	return err
}

// logTimeout is the setting that has a log kept: how often a file of it is completed.
const logTimeout = "archive-timeout"

// leastLogTimeout is the time between two marks.
const leastLogTimeout = time.Second

func parseLogTimeout(text string) (time.Duration, error) {
	d, err := time.ParseDuration(strings.TrimSpace(text))
	if err != nil || d < leastLogTimeout {
		return 0, fmt.Errorf("%s is %q, and takes a time such as 60s, of a second at least", logTimeout, text)
	}
	return d, nil
}
