package archive

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// Request says what a Writer is to write.
type Request struct {
	Scope
	ID string `json:"id"`
	// Operation is the identifier of the operation that writes: a repeat of it continues, and nobody else.
	Operation string `json:"operation"`
	// Source names data that reads the same each time, such as a staged file, by its digest; "" for a live stream.
	// Only an attempt with the same source is continued.
	Source string `json:"source,omitempty"`
	// Options are those of the volumes and the manifest. A retention of the archive counts if they have none.
	Options store.Options `json:"-"`
}

// started is the object that says who writes an attempt. It goes when the manifest is there.
type started struct {
	Request

	Attempt string `json:"attempt"`
}

// mark says that a volume is stored, so that a repeat goes on behind it.
type mark struct {
	Attempt string `json:"attempt"`
	Stream  string `json:"stream"`
	Number  int    `json:"number"`
	Volume  Volume `json:"volume"`
	// Content is a 64 bit hash (xxHash) of what the volume holds of the stream.
	Content uint64 `json:"content"`
	// Head is the SHA-256 of the first bytes of the object: another run that encrypts the same makes others.
	Head string `json:"head,omitempty"`
}

func attemptKey(s Scope, attempt string) string {
	return s.prefix(kindAttempt) + attempt + "/started.json"
}

func markKey(s Scope, attempt, stream string, n int) string {
	return s.prefix(kindAttempt) + attempt + "/" + fmt.Sprintf("%s.%05d.json", stream, n)
}

// Begin starts a backup, or continues one that the same operation left behind. If the operation wrote the backup
// before, its manifest comes back with a nil Writer. ErrExists if another operation did.
func (a *Archive) Begin(ctx context.Context, r Request) (*Writer, *Manifest, error) {
	if r.ID == "" || r.Operation == "" || r.Cluster == "" {
		return nil, nil, errors.New("begin a backup: it lacks an identifier, an operation or a cluster")
	}
	done, err := a.written(ctx, r)
	if err != nil || done != nil {
		return nil, done, err
	}
	if r.Options.RetainUntil.IsZero() {
		if r.Options, err = a.options(ctx); err != nil {
			return nil, nil, fmt.Errorf("begin backup %s: %w", r.ID, err)
		}
	}
	w := &Writer{archive: a, request: r, marks: map[string][]mark{}}
	if r.Source != "" {
		if err := w.resume(ctx); err != nil {
			return nil, nil, fmt.Errorf("continue backup %s: %w", r.ID, err)
		}
	}
	if w.attempt == "" {
		if w.attempt, err = a.newULID(); err != nil {
			return nil, nil, err
		}
		err := a.putSigned(ctx, attemptKey(r.Scope, w.attempt), started{Request: r, Attempt: w.attempt}, store.Options{})
		if err != nil {
			return nil, nil, fmt.Errorf("begin backup %s: %w", r.ID, err)
		}
	}
	w.started, w.archive = a.now().UTC(), a.patient()
	return w, nil, nil
}

// written finds the backup if it is there already.
func (a *Archive) written(ctx context.Context, r Request) (*Manifest, error) {
	entry, err := a.Find(ctx, r.Scope, r.ID)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("begin backup %s: %w", r.ID, err)
	}
	m, err := a.Manifest(ctx, entry)
	if err != nil {
		// Fails closed: one that can't be read belongs to somebody.
		return nil, fmt.Errorf("begin backup %s: %w, and its owner is unknown: %w", r.ID, ErrExists, err)
	}
	if m.Operation != r.Operation {
		return nil, fmt.Errorf("begin backup %s: %w: operation %s wrote it", r.ID, ErrExists, m.Operation)
	}
	return m, nil
}

// resume finds the newest attempt of the same operation and source, and what of it is stored.
func (w *Writer) resume(ctx context.Context) error {
	a, prefix := w.archive, w.request.prefix(kindAttempt)
	marks := map[string][]string{}
	for o, err := range store.All(ctx, a.store, prefix) {
		if err != nil {
			return err
		}
		attempt, file, ok := strings.Cut(strings.TrimPrefix(o.Key, prefix), "/")
		if !ok || !isAttempt(attempt) {
			continue
		}
		if file != "started.json" {
			marks[attempt] = append(marks[attempt], o.Key)
			continue
		}
		var b started
		err := a.getSigned(ctx, o.Key, &b)
		if errors.Is(err, ErrSignature) || errors.Is(err, ErrDamaged) || errors.Is(err, store.ErrNotFound) {
			continue // of somebody else, or over by now
		}
		if err != nil {
			return err
		}
		// Whatever a name says: what is signed counts.
		b.Options = w.request.Options
		if b.Attempt == attempt && b.Request == w.request {
			w.attempt = attempt
		}
	}
	if w.attempt == "" {
		return nil
	}
	for _, key := range marks[w.attempt] {
		var m mark
		if err := a.getSigned(ctx, key, &m); err != nil {
			return err
		}
		list := w.marks[m.Stream]
		if m.Attempt != w.attempt || m.Number != len(list) ||
			markKey(w.request.Scope, w.attempt, m.Stream, m.Number) != key {
			return fmt.Errorf("%w: %s is out of place", ErrDamaged, key)
		}
		w.marks[m.Stream] = append(list, m)
	}
	err := w.dropUnmarked(ctx)
	if err == nil {
		err = w.own(ctx)
	}
	if errors.Is(err, errOther) || errors.Is(err, store.ErrRetained) {
		// Two runs met there, and both gave it up; or the store keeps a volume that nobody knows.
		w.attempt, w.marks, err = "", map[string][]mark{}, nil
	}
	return err
}

// dropUnmarked removes volumes that were stored by a run that died before it could say so.
func (w *Writer) dropUnmarked(ctx context.Context) error {
	a, m := w.archive, w.manifest()
	known := map[string]int64{}
	for stream, list := range w.marks {
		for n, mark := range list {
			known[m.volumeKey(stream, n)] = mark.Volume.Bytes
		}
	}
	for o, err := range store.All(ctx, a.store, m.prefix(kindData)+w.attempt+"/") {
		if err != nil {
			return err
		}
		size, ok := known[o.Key]
		delete(known, o.Key)
		switch {
		case !ok:
			if err := w.dropVolume(ctx, o.Key); err != nil {
				return err
			}
		case size != o.Size:
			return fmt.Errorf("%w: %s has %d bytes instead of %d", ErrDamaged, o.Key, o.Size, size)
		}
	}
	for key := range known {
		return fmt.Errorf("%w: %s is missing", ErrDamaged, key)
	}
	return nil
}
