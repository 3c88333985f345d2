package helper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/wire"
)

// pipePath is the file of a command that reads it once: what comes in, while it comes.
const pipePath = "/dev/stdin"

// errUnread: the rest of a backup was not read, for the command had failed.
var errUnread = errors.New("the command failed before the end")

// pipe has the command make the data directory while the backup comes in, and stores no file. A command that fails ends
// it. What is wrong with the backup, as far as it was read by then, is told rather than what the command makes of it.
func (r *receiver) pipe(ctx context.Context, body source, size int64, want string) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	out, in, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("read the backup: %w", err)
	}
	sum := sumFor(want)
	var n int64
	var broken error
	read, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(read)
		n, broken = pass(in, sum.reader(r.counted(body)), gone)
		if broken != nil {
			stop() // to the command that is the end of a whole backup
		}
		_ = in.Close() // the command may be gone
		// A database that replays its log has read all, and works on for long: it shares the memory of the pod.
		debug.FreeOSMemory()
	}()
	failed := execute(ctx, r.command, pipePath, r.target.out(), out, r.output)
	if failed != nil {
		close(gone)
		select {
		case <-read: // nothing is left to end
		default:
			body.abandon()
		}
	}
	err = out.Close()
	<-read
	if errors.Is(broken, errUnread) {
		return fmt.Errorf("%w (%d of %d bytes of the backup were read, so it is not known whether it is damaged)", failed,
			n, size)
	}
	if broken == nil {
		broken = body.done()
	}
	if broken != nil {
		return fmt.Errorf("read the backup after %d of %d bytes: %w", n, size, broken)
	}
	if err := sum.arrived(n, size); err != nil {
		return err
	}
	return errors.Join(failed, err)
}

// pass copies all there is, and reads on when nobody takes it any more, unless gone is closed: the rest tells whether
// the backup is damaged. It returns how much there was, and what is wrong with the source; errUnread if it stopped.
func pass(to io.Writer, from io.Reader, gone <-chan struct{}) (n int64, err error) {
	buffer := make([]byte, wire.Chunk)
	for {
		got, err := from.Read(buffer)
		n += int64(got)
		if to != nil && got > 0 {
			if _, err := to.Write(buffer[:got]); err != nil {
				to = nil
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return n, nil
		case errors.Is(err, repository.ErrDamaged):
			return n, err
		}
		select {
		case <-gone:
			return n, errUnread
		default:
		}
		if err != nil {
			return n, err
		}
	}
}
