package volume

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"
)

// ErrDamaged: the bytes are not what a Writer stored, or not all of it.
var ErrDamaged = errors.New("stored data is damaged")

// ErrKey: none of the identities opens it.
var ErrKey = errors.New("no key opens this backup")

// decoders is how many frames are decompressed at once. pieces bounds the memory of one Reader: each holds a frame as
// it is stored and as it was, 8 MiB. With fewer decoders there are as many: some are read ahead.
const (
	decoders = 4
	pieces   = decoders + 1
)

// Reader is a stream. WriteTo passes on what is left of it without another copy, a frame at a time.
type Reader interface {
	io.ReadCloser
	io.WriterTo
}

// NewReader reads what Compress made and, for identities, age encrypted. It decompresses several frames at once. The
// end of the stream comes only after exactly plain bytes, each frame compared with its own checksum before it is
// passed on. Once Read returned an error, or Close returned, nothing reads from stored any more; Close waits for a
// read of stored that is under way.
func NewReader(stored io.Reader, plain int64, identities ...age.Identity) (Reader, error) {
	if len(identities) > 0 {
		decrypted, err := age.Decrypt(stored, identities...)
		if _, ok := errors.AsType[*age.NoIdentityMatchError](err); ok {
			return nil, fmt.Errorf("%w: it was encrypted to other recipients", ErrKey)
		}
		if err != nil {
			return nil, fmt.Errorf("decrypt: %w", err)
		}
		stored = decrypted
	}
	workers := min(runtime.GOMAXPROCS(0), decoders)
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(workers), zstd.WithDecoderMaxMemory(FrameSize),
		zstd.WithDecoderMaxWindow(FrameSize))
	if err != nil {
		return nil, fmt.Errorf("make a decompressor: %w", err)
	}
	r := &reader{decoder: decoder, left: plain, free: make(chan *piece, pieces), work: make(chan *piece, pieces),
		queue: make(chan *piece, pieces)}
	for range cap(r.free) {
		r.free <- &piece{}
	}
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	r.running.Go(func() { r.cut(ctx, stored) })
	for range workers {
		r.running.Go(r.decompress)
	}
	return r, nil
}

// piece is a frame, as it is stored and as it was.
type piece struct {
	stored, plain []byte
	err           error
	done          chan struct{}
}

// reader is one stream: cut fills pieces, several goroutines decompress them, Read passes them on in order.
type reader struct {
	decoder           *zstd.Decoder
	free, work, queue chan *piece
	stop              context.CancelFunc
	running           sync.WaitGroup

	// current is the piece that rest is of.
	current *piece
	rest    []byte
	left    int64
	err     error
}

// cut ends with the first error, and says it in the last piece.
func (r *reader) cut(ctx context.Context, stored io.Reader) {
	defer close(r.queue)
	defer close(r.work)
	for {
		var p *piece
		select {
		case p = <-r.free:
		case <-ctx.Done():
			return
		}
		p.plain, p.done = p.plain[:0], make(chan struct{})
		p.stored, p.err = readFrame(stored, p.stored[:0])
		if p.err != nil {
			close(p.done)
			r.queue <- p
			return
		}
		r.work <- p
		r.queue <- p
	}
}

func (r *reader) decompress() {
	for p := range r.work {
		p.plain, p.err = r.decoder.DecodeAll(p.stored, p.plain)
		close(p.done)
	}
}

// Read returns the first error again and again.
func (r *reader) Read(p []byte) (int, error) {
	r.advance()
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	if n > 0 {
		return n, nil
	}
	return 0, r.err
}

// WriteTo implements io.WriterTo. What w did not take can be read again.
func (r *reader) WriteTo(w io.Writer) (total int64, err error) {
	for r.advance(); len(r.rest) > 0; r.advance() {
		n, err := w.Write(r.rest)
		total, r.rest = total+int64(n), r.rest[n:]
		if err != nil {
			return total, err
		}
	}
	if errors.Is(r.err, io.EOF) {
		return total, nil
	}
	return total, r.err
}

// advance has something to read, unless the stream ended.
func (r *reader) advance() {
	for len(r.rest) == 0 && r.err == nil {
		if err := r.next(); err != nil {
			r.finish()
			r.err = err
		}
	}
}

// next waits for the next piece. What was found to be wrong with it is said before any of its bytes.
func (r *reader) next() error {
	if r.current != nil {
		r.free <- r.current
		r.current = nil
	}
	p, ok := <-r.queue
	if !ok {
		return io.ErrClosedPipe // after Close
	}
	<-p.done
	r.left -= int64(len(p.plain))
	switch {
	case errors.Is(p.err, io.EOF) && r.left > 0:
		return fmt.Errorf("%w: it ends %d bytes early", ErrDamaged, r.left)
	case errors.Is(p.err, io.EOF):
		return io.EOF
	case p.err != nil:
		return fmt.Errorf("decompress: %w", p.err)
	case r.left < 0:
		return fmt.Errorf("%w: it is longer than its manifest says", ErrDamaged)
	}
	r.current, r.rest = p, p.plain
	return nil
}

// finish ends all that runs. It may be repeated.
func (r *reader) finish() {
	r.stop()
	for range r.queue { // what nobody reads
	}
	r.running.Wait()
	r.decoder.Close()
	r.rest = nil
}

func (r *reader) Close() error {
	r.finish()
	if r.err == nil {
		r.err = io.ErrClosedPipe
	}
	return nil
}
