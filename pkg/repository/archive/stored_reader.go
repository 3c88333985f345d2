package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// fetches is how many parts are read ahead; each holds store.PartSize bytes.
const fetches = 3

// slice is how much of a part is compared and passed on at once: what was just hashed is decrypted while a processor
// still has it at hand.
const slice = 256 << 10

// storedReader reads one object in parts, several ahead, and compares it with its size and SHA-256 before it
// passes the last part on. Fetching, hashing and what the caller does with the bytes go on at the same time.
type storedReader struct {
	ctx  context.Context
	want Volume
	key  string

	fetched chan chan part
	hashed  chan part
	// free are buffers that nobody uses.
	free chan []byte

	// whole is the buffer of the part that rest ends, if it does.
	whole, rest []byte
	err         error
}

// part is one that was fetched, or a slice of it that was hashed: the last one has the buffer of all.
type part struct {
	body, whole []byte
	err         error
}

func newStoredReader(ctx context.Context, s store.Store, key string, want Volume) *storedReader {
	r := &storedReader{
		ctx: ctx, want: want, key: key, fetched: make(chan chan part, fetches),
		hashed: make(chan part, store.PartSize/slice),
		free:   make(chan []byte, fetches+2),
	}
	for range cap(r.free) {
		r.free <- nil
	}
	go r.fetch(s)
	go r.hash()
	return r
}

// fetch asks for parts, as many at once as there are buffers.
func (r *storedReader) fetch(s store.Store) {
	defer close(r.fetched)
	for offset := int64(0); offset < r.want.Bytes; offset += store.PartSize {
		var buffer []byte
		select {
		case buffer = <-r.free:
		case <-r.ctx.Done():
			return
		}
		if buffer == nil {
			buffer = make([]byte, store.PartSize)
		}
		answer := make(chan part, 1)
		go func() {
			body := buffer[:min(store.PartSize, r.want.Bytes-offset)]
			answer <- part{body, buffer, fetch(r.ctx, s, r.key, offset, body)}
		}()
		select {
		case r.fetched <- answer:
		case <-r.ctx.Done():
			return
		}
	}
}

// hash takes the parts in order. Nothing of the last one passes unless the sum is right: that explains more than what a
// decoder says, and most objects have one part.
func (r *storedReader) hash() {
	defer close(r.hashed)
	sum, bytes := sha256.New(), int64(0)
	for answer := range r.fetched {
		p := <-answer
		size := slice
		if bytes+int64(len(p.body)) == r.want.Bytes {
			size = len(p.body)
		}
		for left := p.body; len(left) > 0; {
			s := part{body: left[:min(size, len(left))], err: p.err}
			left = left[len(s.body):]
			sum.Write(s.body)
			bytes += int64(len(s.body))
			if s.err == nil && bytes == r.want.Bytes {
				s.err = r.compare(sum.Sum(nil))
			}
			if len(left) == 0 {
				s.whole = p.whole
			}
			select {
			case r.hashed <- s:
			case <-r.ctx.Done():
				return
			}
			if s.err != nil {
				return
			}
		}
	}
}

func (r *storedReader) compare(sum []byte) error {
	if got := hex.EncodeToString(sum); got != r.want.SHA256 {
		return fmt.Errorf("%w: the SHA-256 of %s is %s, its manifest says %s", ErrDamaged, r.key, got, r.want.SHA256)
	}
	return nil
}

// fetch reads a range in full.
func fetch(ctx context.Context, s store.Store, key string, offset int64, body []byte) error {
	in, err := s.Get(ctx, key, offset, int64(len(body)))
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	n, err := io.ReadFull(in, body)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // nobody may take it for the end of the object
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		// Only the store can tell that bytes are missing: while it is out of reach, nothing is known of the data.
		o, head := s.Head(ctx, key)
		if head == nil && o.Size >= offset+int64(len(body)) || head != nil && !errors.Is(head, store.ErrNotFound) {
			return transport{fmt.Errorf("the connection was cut after %d bytes of %s: %w", offset+int64(n), key, err)}
		}
		return fmt.Errorf("%w: %s ends after %d bytes", ErrDamaged, key, offset+int64(n))
	}
	if err != nil {
		return transport{err}
	}
	return nil
}

// transport marks an error of a connection, which says nothing about the data.
type transport struct{ error }

func (t transport) Unwrap() error { return t.error }

// isStore reports whether an error is about reaching the data, and not about the data.
func isStore(err error) bool {
	if _, ok := errors.AsType[transport](err); ok {
		return true
	}
	for _, known := range []error{store.ErrDenied, store.ErrUnreachable, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

func (r *storedReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 && r.err == nil {
		if r.whole != nil {
			r.free <- r.whole
			r.whole = nil
		}
		next, ok := <-r.hashed
		switch {
		case ok:
			r.whole, r.rest, r.err = next.whole, next.body, next.err
		case r.ctx.Err() != nil:
			r.err = r.ctx.Err()
		default:
			r.err = io.EOF
		}
	}
	if r.err != nil {
		return 0, r.err
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// failure is what ended the reader early, if anything did.
func (r *storedReader) failure() error {
	if errors.Is(r.err, io.EOF) {
		return nil
	}
	return r.err
}
