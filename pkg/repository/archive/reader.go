package archive

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/volume"
)

// Read streams one stream of a backup. io.EOF comes only after every volume had the size and the SHA-256 of the
// manifest; until then the reader must not use what it got. ErrDamaged comes as soon as anything differs.
func (a *Archive) Read(ctx context.Context, m *Manifest, stream string) (io.ReadCloser, error) {
	if m.Encrypted && len(a.keys.Identities) == 0 {
		return nil, fmt.Errorf("read backup %s: %w: it is encrypted, and there is no secret key here", m.ID, volume.ErrKey)
	}
	for _, s := range m.Streams {
		if s.Name == stream {
			ctx, stop := context.WithCancel(ctx)
			return &streamReader{ctx: ctx, stop: stop, archive: a.patient(), manifest: m, stream: s}, nil
		}
	}
	return nil, fmt.Errorf("read backup %s: it has no stream %q", m.ID, stream)
}

// streamReader holds the context of the one stream that it is.
type streamReader struct {
	ctx      context.Context
	stop     context.CancelFunc
	archive  *Archive
	manifest *Manifest
	stream   Stream

	next    int
	stored  *storedReader
	content volume.Reader
	err     error
}

func (r *streamReader) Read(p []byte) (int, error) {
	for r.ready() {
		n, err := r.content.Read(p)
		if errors.Is(err, io.EOF) {
			err = r.finish()
		}
		r.err = r.explain(err)
		if n > 0 || r.err != nil {
			return n, r.err
		}
	}
	return 0, r.err
}

// WriteTo implements io.WriterTo: nothing is copied on the way to w.
func (r *streamReader) WriteTo(w io.Writer) (total int64, err error) {
	to := &taker{Writer: w}
	for r.ready() {
		n, err := r.content.WriteTo(to)
		total += n
		if to.err != nil {
			return total, to.err
		}
		if err == nil {
			err = r.finish()
		}
		r.err = r.explain(err)
	}
	if errors.Is(r.err, io.EOF) {
		return total, nil
	}
	return total, r.err
}

// taker tells an error of who takes a stream from one of the stream.
type taker struct {
	io.Writer

	err error
}

func (t *taker) Write(p []byte) (n int, err error) {
	n, t.err = t.Writer.Write(p)
	return n, t.err
}

// ready has a volume to read, unless the stream ended.
func (r *streamReader) ready() bool {
	for r.err == nil && r.content == nil {
		if r.next == len(r.stream.Volumes) {
			r.err = io.EOF
			break
		}
		r.err = r.explain(r.open())
	}
	return r.err == nil
}

// open begins the next volume.
func (r *streamReader) open() error {
	a, v := r.archive, r.stream.Volumes[r.next]
	key := r.manifest.volumeKey(r.stream.Name, r.next)
	r.stored = newStoredReader(r.ctx, a.store, key, v)
	identities := a.keys.Identities
	if !r.manifest.Encrypted {
		identities = nil
	}
	content, err := volume.NewReader(r.stored, v.Plain, identities...)
	if err != nil {
		// A changed header is like one for another key; the hash of the object tells them apart.
		_, _ = io.Copy(io.Discard, r.stored)
		return err
	}
	r.content = content
	return nil
}

// finish ends a volume: whatever follows in the object counts for its SHA-256 too.
func (r *streamReader) finish() error {
	_, err := io.Copy(io.Discard, r.stored)
	_ = r.content.Close()
	r.content = nil
	r.next++
	if err == nil {
		r.stored = nil // its buffers are large, and who reads may stay for long
	}
	return err
}

func (r *streamReader) explain(err error) error {
	if err == nil {
		return nil
	}
	// What the store or the hash says explains more than the decoder that it confused.
	if r.stored != nil && r.stored.failure() != nil {
		err = r.stored.failure()
	}
	if errors.Is(err, store.ErrNotFound) {
		err = fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if r.ctx.Err() == nil && !isStore(err) && !errors.Is(err, volume.ErrKey) && !errors.Is(err, ErrDamaged) {
		err = fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return fmt.Errorf("read %s of backup %s, volume %d: %w", r.stream.Name, r.manifest.ID, r.next, err)
}

// Close ends the stream.
func (r *streamReader) Close() error {
	r.stop()
	if r.content != nil {
		return r.content.Close()
	}
	return nil
}
