package postgres

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// supply answers the restore_command of a server: that only writes the name of a file into a pipe, and reads from
// another that the file is there. So no program is started for each, and the file that follows in the log is written
// while the server replays the one before it. It is durable then: else the server would wait for that.
type supply struct {
	// pipes is a directory for the two, data is the directory of the server, ahead one of the same volume.
	pipes, data, ahead string
	log                []engine.LogFile
	read               func(ctx context.Context, name string) ([]byte, error)

	asked, answered *os.File
	cancel          context.CancelFunc
	ended           sync.WaitGroup
	// next is what is written ahead.
	next   *aheadFile
	failed error
}

// aheadFile is a file of the log that nobody asked for yet.
type aheadFile struct {
	name string
	done chan error
}

// Codes with which restore_command ends: after missing the server goes on without the file, after broken it must not.
const (
	missing = 1
	broken  = 255
)

// startSupply makes the pipes, and answers until stop is called, for the data of a member that is below a directory.
func startSupply(ctx context.Context, directory string, to engine.ForwardTo) (*supply, error) {
	pipes := to.Scratch
	s := &supply{pipes: pipes, data: filepath.Join(directory, "pgdata"), ahead: filepath.Join(directory, "ahead"),
		log: to.Log, read: to.Read}
	if strings.ContainsAny(pipes, "'%\n") {
		return nil, fmt.Errorf("write a restore_command: it can't hold directory %q", pipes)
	}
	if err := os.Mkdir(s.ahead, 0o700); err != nil {
		return nil, fmt.Errorf("make a directory for the log: %w", err)
	}
	mkfifo := exec.CommandContext(ctx, "mkfifo", "-m", "600", s.pipe("asked"), s.pipe("answered")) // #nosec G204 -- ours
	out, err := mkfifo.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("make pipes for restore_command: %w: %s", err, out)
	}
	// Open for both ways, so that neither waits for another process, and none sees an end.
	if s.asked, err = os.OpenFile(s.pipe("asked"), os.O_RDWR, 0); err != nil {
		return nil, fmt.Errorf("open a pipe of restore_command: %w", err)
	}
	if s.answered, err = os.OpenFile(s.pipe("answered"), os.O_RDWR, 0); err != nil {
		return nil, errors.Join(fmt.Errorf("open a pipe of restore_command: %w", err), s.asked.Close())
	}
	ctx, s.cancel = context.WithCancel(ctx)
	s.ended.Go(func() { s.serve(ctx) })
	return s, nil
}

func (s *supply) pipe(name string) string { return filepath.Join(s.pipes, name) }

// command is what the server runs. An answer to another process, which was ended before it read that, counts as a
// failure: nobody may take it for a file that is missing.
func (s *supply) command() string {
	return fmt.Sprintf(`echo "$$ %%f %%p" >'%s' && read -r p f c <'%s' && test "$p $f" = "$$ %%f" && exit "$c"; exit %d`,
		s.pipe("asked"), s.pipe("answered"), broken)
}

func (s *supply) serve(ctx context.Context) {
	lines := bufio.NewScanner(s.asked)
	for lines.Scan() {
		process, rest, _ := strings.Cut(lines.Text(), " ")
		name, path, _ := strings.Cut(rest, " ")
		code := 0
		switch err := s.get(ctx, name, path); {
		case errors.Is(err, engine.ErrNoLogFile):
			code = missing
		case err != nil:
			s.failed, code = err, broken
		}
		if _, err := fmt.Fprintln(s.answered, process, name, code); err != nil {
			return // stop closed it
		}
	}
}

// get puts a file of the log where the server wants it, below its data.
func (s *supply) get(ctx context.Context, name, path string) error {
	if !filepath.IsLocal(path) {
		return fmt.Errorf("get file %s of the log: the server wants it outside of its data, at %q", name, path)
	}
	if s.backedUp(name) {
		return engine.ErrNoLogFile
	}
	if s.next != nil && s.next.name != name {
		// The server follows another timeline, or needs nothing more.
		unasked := filepath.Join(s.ahead, s.next.name)
		if s.await() == nil {
			_ = os.Remove(unasked) // stop removes all
		}
	}
	ahead := s.next != nil
	if !ahead {
		s.begin(ctx, name)
	}
	err := s.await()
	if err != nil && ahead { // it may succeed now
		s.begin(ctx, name)
		err = s.await()
	}
	if err != nil {
		return fmt.Errorf("get file %s of the log: %w", name, err)
	}
	if err := os.Rename(filepath.Join(s.ahead, name), filepath.Join(s.data, path)); err != nil {
		return fmt.Errorf("get file %s of the log: %w", name, err)
	}
	for i, f := range s.log[:max(0, len(s.log)-1)] {
		if f.Name == name && s.log[i+1].Timeline == f.Timeline {
			s.begin(ctx, s.log[i+1].Name)
		}
	}
	return nil
}

// backedUp says that the data has a history file already, from the backup. A server that is told that the archive has
// none takes that one (readTimeLineHistory of PostgreSQL). It is the same, and signed with the backup: that in the
// archive was put there when the timeline began, and perhaps by a key that nobody trusts any more.
func (s *supply) backedUp(name string) bool {
	if !strings.HasSuffix(name, ".history") {
		return false
	}
	_, err := os.Stat(filepath.Join(s.data, "pg_wal", name))
	return err == nil
}

// begin has a file written ahead.
func (s *supply) begin(ctx context.Context, name string) {
	next := &aheadFile{name: name, done: make(chan error, 1)}
	s.next = next
	s.ended.Go(func() { next.done <- s.write(ctx, name) })
}

// await returns once nothing is written ahead any more, with what came of it.
func (s *supply) await() error {
	if s.next == nil {
		return nil
	}
	err := <-s.next.done
	s.next = nil
	return err
}

// write makes a file of the log.
func (s *supply) write(ctx context.Context, name string) error {
	if filepath.Base(name) != name {
		return fmt.Errorf("%q is no name of a file", name)
	}
	body, err := s.read(ctx, name)
	if err != nil {
		return err
	}
	path := filepath.Join(s.ahead, name)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) // #nosec G304 -- a name in our directory
	if err != nil {
		return err
	}
	_, err = file.Write(body)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// stop ends it once the server ended. The error is why a file could not be had.
func (s *supply) stop() error {
	s.cancel()
	err := errors.Join(s.asked.Close(), s.answered.Close())
	s.ended.Wait()
	return errors.Join(s.failed, err, os.RemoveAll(s.ahead))
}
