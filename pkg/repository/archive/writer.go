package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/volume"
)

const (
	// volumeBytes is how much of a stream, as it is stored, one object takes. It doubles with every 1,000
	// volumes, so that the list of them stays short.
	volumeBytes = 1 << 30
	// abortWithin bounds what is done after a failure.
	abortWithin = 10 * time.Second
)

// Writer writes one backup: its streams one after the other, then Commit. Nothing of it is visible before. A
// crash leaves objects that a repeat of the operation continues from, or that Prune collects.
type Writer struct {
	archive *Archive
	request Request
	attempt string
	started time.Time
	streams []Stream
	marks   map[string][]mark
	// limit is that of a volume; tests make it small.
	limit func(n int) int64
}

func growing(n int) int64 { return volumeBytes << (n / 1000) }

func (w *Writer) manifest() *Manifest {
	return &Manifest{
		Scope: w.request.Scope, ID: w.request.ID, Attempt: w.attempt, Encrypted: len(w.archive.keys.Recipients) > 0,
	}
}

// Stream stores a stream to its end. Its name is that of a file. What an earlier run of the same attempt stored
// is read again and compared, and not sent: ErrSource if it differs.
func (w *Writer) Stream(ctx context.Context, name string, r io.Reader) error {
	if !validStream(name) {
		return fmt.Errorf("write backup %s: the name of a stream must be plain, not %q", w.request.ID, name)
	}
	s := &streamWriter{writer: w, stream: Stream{Name: name}, limit: w.limit}
	if s.limit == nil {
		s.limit = growing
	}
	if err := s.skip(ctx, r); err != nil {
		return fmt.Errorf("write %s of backup %s: %w", name, w.request.ID, err)
	}
	err := volume.Compress(ctx, r, func(f *volume.Frame) error { return s.frame(ctx, f) })
	if err == nil {
		err = s.close(ctx)
	} else if s.upload != nil {
		// A part that failed ends all others, and says more than they do.
		if failed := s.upload.abort(); failed != nil && ctx.Err() == nil {
			err = failed
		}
	}
	if err != nil {
		return fmt.Errorf("write %s of backup %s: %w", name, w.request.ID, err)
	}
	w.streams = append(w.streams, s.stream)
	return nil
}

// streamWriter cuts one stream into volumes.
type streamWriter struct {
	writer *Writer
	stream Stream
	limit  func(n int) int64

	upload  *upload
	plain   int64
	content *xxhash.Digest
}

// skip reads over what is stored.
func (s *streamWriter) skip(ctx context.Context, r io.Reader) error {
	for _, m := range s.writer.marks[s.stream.Name] {
		if err := ctx.Err(); err != nil {
			return err
		}
		content := xxhash.New()
		n, err := io.CopyN(content, r, m.Volume.Plain)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if n != m.Volume.Plain || content.Sum64() != m.Content {
			return fmt.Errorf("%w: what volume %d holds reads differently; begin another backup", ErrSource, m.Number)
		}
		s.stream.Volumes = append(s.stream.Volumes, m.Volume)
	}
	return nil
}

func (s *streamWriter) frame(ctx context.Context, f *volume.Frame) (err error) {
	if s.upload == nil {
		if len(s.stream.Volumes) == maxVolumes {
			return fmt.Errorf("it has more than %d volumes", maxVolumes)
		}
		w := s.writer
		key := w.manifest().volumeKey(s.stream.Name, len(s.stream.Volumes))
		s.upload, err = newUpload(ctx, w.archive.store, key, w.request.Options, w.archive.keys.Recipients)
		if err != nil {
			return err
		}
		s.plain, s.content = 0, xxhash.New()
	}
	if _, err := s.upload.Write(f.Stored); err != nil {
		return err
	}
	s.plain += int64(len(f.Plain))
	if s.writer.request.Source != "" {
		_, _ = s.content.Write(f.Plain)
	}
	if s.upload.bytes >= s.limit(len(s.stream.Volumes)) {
		return s.close(ctx)
	}
	return nil
}

// close ends the volume at hand.
func (s *streamWriter) close(ctx context.Context) error {
	if s.upload == nil {
		return nil
	}
	head := &s.upload.head
	bytes, sum, err := s.upload.commit()
	if err != nil {
		s.upload = nil
		return err
	}
	s.upload = nil
	v, w, n := Volume{Bytes: bytes, SHA256: sum, Plain: s.plain}, s.writer, len(s.stream.Volumes)
	s.stream.Volumes = append(s.stream.Volumes, v)
	if w.request.Source == "" {
		return nil
	}
	m := mark{Attempt: w.attempt, Stream: s.stream.Name, Number: n, Volume: v, Content: s.content.Sum64(),
		Head: headSum(*head)}
	return w.mark(ctx, m)
}

// Commit makes the backup exist. m says what the engine knows; what only the Writer knows is filled in. All
// volumes are listed first: what is not there in full is never promised.
func (w *Writer) Commit(ctx context.Context, m Manifest) (*Manifest, error) {
	own := w.manifest()
	m.Format, m.Scope, m.ID, m.Attempt, m.Encrypted = Format, own.Scope, own.ID, own.Attempt, own.Encrypted
	m.Operation, m.Streams = w.request.Operation, w.streams
	if m.StartedAt.IsZero() {
		m.StartedAt = w.started
	}
	if m.FinishedAt.IsZero() {
		m.FinishedAt = w.archive.now().UTC()
	}
	if until := w.request.Options.RetainUntil; !until.IsZero() {
		m.RetainUntil = &until
	}
	err := m.check()
	if err == nil {
		err = w.archive.present(ctx, &m)
	}
	if err == nil {
		err = w.archive.parentOf(ctx, &m)
	}
	if err == nil {
		err = w.own(ctx)
	}
	var key string
	if err == nil {
		key, err = m.key()
	}
	if err == nil {
		err = w.archive.putSigned(ctx, key, m, w.request.Options)
	}
	if err != nil {
		return nil, fmt.Errorf("commit backup %s: %w", m.ID, err)
	}
	// The backup is whole. What says that it is being written is collected by Prune if this fails.
	_ = w.archive.deleteAll(ctx, m.prefix(kindAttempt)+m.Attempt+"/")
	return &m, nil
}
