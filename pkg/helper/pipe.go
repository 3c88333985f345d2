package helper

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/wire"
)

// pipePath is the file of a command that reads it once: what comes in, while it comes.
const pipePath = "/dev/stdin"

// pipe has the command make the data directory while the backup comes in, and stores no file. What is wrong with the
// backup is told rather than what the command makes of it.
func (r *receiver) pipe(ctx context.Context, body source, size int64, want string) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	out, in, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("read the backup: %w", err)
	}
	sum := sha256.New()
	var n int64
	var broken error
	read := make(chan bool)
	go func() {
		defer close(read)
		n, broken = pass(in, io.TeeReader(r.counted(body), sum))
		if broken != nil {
			stop() // to the command that is the end of a whole backup
		}
		_ = in.Close() // the command may be gone
	}()
	failed := execute(ctx, r.command, pipePath, r.target.out(), out, r.output)
	err = out.Close()
	<-read
	if broken == nil {
		broken = body.done()
	}
	if broken != nil {
		return fmt.Errorf("read the backup after %d of %d bytes: %w", n, size, broken)
	}
	if err := arrived(n, size, sum, want); err != nil {
		return err
	}
	return errors.Join(failed, err)
}

// pass copies all there is, and reads on when nobody takes it any more: the rest tells whether the backup is damaged.
// It returns how much there was, and what is wrong with the source.
func pass(to io.Writer, from io.Reader) (n int64, err error) {
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
		case err != nil:
			return n, err
		}
	}
}

// arrived compares what came in with what was announced. want may be "".
func arrived(bytes, size int64, sum hash.Hash, want string) error {
	switch got := hex.EncodeToString(sum.Sum(nil)); {
	case bytes != size:
		return fmt.Errorf("%w: %d bytes were announced and %d arrived", repository.ErrDamaged, size, bytes)
	case want != "" && got != want:
		return fmt.Errorf("%w: SHA-256 %s was announced and %s arrived", repository.ErrDamaged, want, got)
	}
	return nil
}
