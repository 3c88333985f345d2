package helper

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/disk"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/wire"
)

// receiver waits for a backup and makes a data directory of it.
type receiver struct {
	target   target
	command  []string
	finish   func(dataDir string) error
	dataHash func(file string, command []string) (engine.DataHash, error)
	once     bool
	margin   int64
	output   io.Writer
	free     func(path string) (int64, error)
	stall    time.Duration
	status   board
}

// run serves until a load succeeded or ctx ended, or nobody asks for anything any more.
func (r *receiver) run(ctx context.Context, l net.Listener) error {
	mux := http.NewServeMux()
	serving, h, done := untilIdle(ctx, mux, idleAfter)
	defer done()
	mux.HandleFunc("GET "+repository.PathHealth, healthy)
	mux.HandleFunc("GET "+pathStatus, func(w http.ResponseWriter, _ *http.Request) {
		wire.Answer(w, http.StatusOK, r.status.now())
	})
	mux.HandleFunc("PUT "+pathSnapshot, func(w http.ResponseWriter, req *http.Request) {
		// What has arrived whole is loaded even if the client goes away, so
		// only the end of this process stops it.
		body := newPatient(w, req, r.stall)
		if err := r.put(ctx, req, body); err != nil {
			body.answer(func() { loadFaults().Refuse(w, err) })
			return
		}
		wire.Answer(w, http.StatusOK, r.status.now())
		done()
	})
	err := serve(serving, l, h)
	if r.status.now().State == StateLoaded {
		// The data is in place: trouble with a parting connection changes nothing.
		return nil
	}
	return fmt.Errorf("load into %s: no backup was loaded: %w", r.target.into, errors.Join(err, context.Cause(serving)))
}

func (r *receiver) put(ctx context.Context, req *http.Request, body source) error {
	size, sum := req.ContentLength, req.Header.Get(headerSHA256)
	if size <= 0 || sum != ComparedInside && len(sum) != hex.EncodedLen(sha256.Size) {
		return fmt.Errorf("load into %s: %w: it must say Content-Length (%d) and %s (%q)",
			r.target.into, repository.ErrRequest, size, headerSHA256, sum)
	}
	if sum == ComparedInside {
		sum = ""
	}
	if !r.status.start(size) {
		return fmt.Errorf("load into %s: %w (%s)", r.target.into, ErrLoading, r.status.now().State)
	}
	err := r.load(ctx, body, size, sum)
	if err != nil {
		err = fmt.Errorf("load into %s: %w", r.target.into, err)
		r.status.change(func(s *Status) { s.State, s.Problem = StateWaiting, err.Error() })
		return err
	}
	r.status.change(func(s *Status) { s.State = StateLoaded })
	return nil
}

// source is what a backup is read from.
type source interface {
	io.Reader
	// done is called after its end.
	done() error
	// abandon ends a read that is under way, if it can: nobody wants the rest. Another goroutine may read meanwhile.
	abandon()
}

// load makes the data directory of a backup. sum is what the bytes must have; "" where the source compares them.
func (r *receiver) load(ctx context.Context, body source, size int64, sum string) error {
	return r.fill(size, r.once, func() error {
		if r.once {
			return r.pipe(ctx, body, size, sum)
		}
		if err := r.receive(body, size, sum); err != nil {
			return err
		}
		r.status.change(func(s *Status) { s.State = StateLoading })
		return r.build(ctx, r.target.file())
	})
}

// build has the command make the data directory of a file, which is described meanwhile.
func (r *receiver) build(ctx context.Context, file string) error {
	if r.dataHash == nil {
		return execute(ctx, r.command, file, r.target.out(), nil, r.output)
	}
	described := make(chan error, 1)
	go func() {
		found, err := r.dataHash(file, r.command)
		if err == nil {
			r.status.change(func(s *Status) { s.DataHash = &found })
		}
		described <- err
	}()
	failed := execute(ctx, r.command, file, r.target.out(), nil, r.output)
	if err := <-described; failed == nil && err != nil {
		return fmt.Errorf("%w: the backup can't be read: %w", ErrCommand, err)
	}
	return failed
}

// fill puts the data directory in its place that build leaves in the staging directory. It stores no file of the backup
// there where bare is set.
func (r *receiver) fill(size int64, bare bool, build func() error) error {
	loaded, err := r.target.loaded()
	if loaded || err != nil {
		return err
	}
	if err := r.target.stage(); err != nil {
		return err
	}
	if err := r.fits(size, bare); err != nil {
		return errors.Join(err, r.target.clear())
	}
	err = build()
	r.status.change(func(s *Status) { s.State = StateLoading })
	if err == nil && r.finish != nil {
		err = r.finish(r.target.out())
	}
	if err == nil {
		err = r.target.publish()
	}
	if disk.Full(err) {
		err = fmt.Errorf("%w; use a larger volume: %w", ErrVolumeFull, err)
	}
	if err != nil {
		return errors.Join(err, r.target.clear())
	}
	// The data is in place; the next run would clear this as well.
	if err := r.target.clear(); err != nil {
		_, _ = fmt.Fprintln(r.output, err)
	}
	return nil
}

// Room is how many bytes a volume must have to load a backup: what the command makes of it, the file unless the command
// reads that once, as it comes in, and a margin.
func Room(size int64, once bool) int64 { return room(size, defaultMargin, once) }

func room(size, margin int64, once bool) int64 {
	if size >= (math.MaxInt64-margin)/2 {
		return math.MaxInt64
	}
	if once {
		return size + margin
	}
	return 2*size + margin
}

// fits wants room for what is made, and for the file unless bare is set.
func (r *receiver) fits(size int64, bare bool) error {
	free, err := r.free(r.target.staging)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return err
	}
	need := room(size, r.margin, bare)
	if free < need {
		return fmt.Errorf("%w: %s has %d bytes free, a backup of %d bytes needs %d; use a larger volume",
			ErrVolumeFull, r.target.staging, free, size, need)
	}
	return nil
}

// receive writes the file and checks it in the same pass. It is not made
// durable: after a crash it would be sent again anyway.
func (r *receiver) receive(body source, size int64, want string) (err error) {
	f, err := os.OpenFile(r.target.file(), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	sum := sumFor(want)
	// The command reads it as soon as it is there, and may wait for the disk: file systems that clone files do.
	n, err := io.CopyBuffer(&disk.Writer{File: f}, sum.reader(r.counted(body)), make([]byte, wire.Chunk))
	err = errors.Join(err, f.Close())
	if err == nil {
		err = body.done()
	}
	switch {
	case disk.Full(err):
		return fmt.Errorf("write the backup after %d of %d bytes: %w; use a larger volume: %w", n, size, ErrVolumeFull, err)
	case err != nil:
		return fmt.Errorf("write the backup after %d of %d bytes: %w", n, size, err)
	}
	return sum.arrived(n, size)
}

// counted tells how much was read so far.
func (r *receiver) counted(body io.Reader) io.Reader {
	counter := repository.Counter{Report: func(total int64) {
		r.status.change(func(s *Status) { s.Received = total })
	}}
	return counter.Reader(body)
}
