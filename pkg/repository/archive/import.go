package archive

import (
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/mod/sumdb/note"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// Imported is what Import did.
type Imported struct {
	// Manifest is that of the backup. Unchanged says that it was here, whole.
	Manifest  *Manifest
	Unchanged bool
	// Volumes and Bytes are what was copied; a repeat leaves out what is here.
	Volumes int
	Bytes   int64
}

// Importer copies backups of another archive. What is here it lists once, however many it copies.
type Importer struct {
	to, from *Archive
	there    []Entry
}

// Importer is one that copies from another archive to this one.
func (a *Archive) Importer(ctx context.Context, from *Archive) (*Importer, error) {
	c, err := a.manifests(ctx, Scope{})
	if err != nil {
		return nil, fmt.Errorf("import from %s to %s: %w", from.store.URL(), a.store.URL(), err)
	}
	return &Importer{to: a, from: from, there: c.Entries}, nil
}

// Import copies a backup of the other archive as it is: encryption, signature and identifiers stay. Volumes come first,
// each compared with the SHA-256 of its manifest on the way, and the manifest last, so that what ends in the middle is
// no backup, and a repeat goes on. A key that both archives trust must have signed it: ErrSignature. A backup that it
// adds to must be here. ErrExists if another backup has its identifier, or its place. Proofs stay behind: they tell of
// what is stored there.
func (i *Importer) Import(ctx context.Context, e Entry) (*Imported, error) {
	out, err := i.to.importBackup(ctx, i.from, i.there, e)
	if err != nil {
		return nil, fmt.Errorf("import backup %s from %s to %s: %w", e.ID, i.from.store.URL(), i.to.store.URL(), err)
	}
	if !out.Unchanged {
		i.there = append(i.there, e)
	}
	return out, nil
}

func (a *Archive) importBackup(ctx context.Context, from *Archive, there []Entry, e Entry) (*Imported, error) {
	body, err := store.ReadAll(ctx, from.store, e.Key, maxSigned)
	if err != nil {
		return nil, err
	}
	if err := from.verify(body, &Manifest{}); err != nil {
		return nil, err
	}
	m := &Manifest{}
	if err := a.verify(body, m); err != nil {
		return nil, fmt.Errorf("%w; it is signed by %q", err, signers(body))
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	if key, err := m.key(); err != nil || key != e.Key {
		return nil, fmt.Errorf("%w: its manifest is stored as that of another backup", ErrDamaged)
	}
	out := &Imported{Manifest: m}
	if out.Unchanged, err = a.imported(ctx, there, m, e.Key, body); err != nil || out.Unchanged {
		return out, err
	}
	options, err := a.options(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.importVolumes(ctx, from, out, options); err != nil {
		return nil, err
	}
	if err := a.present(ctx, m); err != nil {
		return nil, err
	}
	return out, store.PutSame(ctx, a.store, e.Key, body, options)
}

// imported reports whether a backup is here already, with all its volumes, and refuses one that could not stand beside
// those that are.
func (a *Archive) imported(ctx context.Context, all []Entry, m *Manifest, key string, body []byte) (bool, error) {
	same, parent := false, m.Parent == ""
	for _, there := range all {
		same = same || there.Key == key
		parent = parent || there.Attempt == m.Parent
		if there.ID == m.ID && there.Key != key {
			return false, fmt.Errorf("%w: another one has this identifier", ErrExists)
		}
	}
	if !parent {
		return false, fmt.Errorf("%w: it adds to attempt %s; import that first", ErrNotFound, m.Parent)
	}
	if !same {
		return false, nil
	}
	if err := store.PutSame(ctx, a.store, key, body, store.Options{}); err != nil {
		return false, err
	}
	switch err := a.present(ctx, m); {
	case errors.Is(err, ErrDamaged):
		return false, nil // what is missing is copied again
	case err != nil:
		return false, err
	}
	return true, nil
}

// importVolumes copies what is not here. A volume was compared before it appeared, so its size tells that it is whole.
func (a *Archive) importVolumes(ctx context.Context, from *Archive, out *Imported, options store.Options) error {
	m, sizes := out.Manifest, map[string]int64{}
	for o, err := range store.All(ctx, a.store, m.prefix(kindData)+m.Attempt+"/") {
		if err != nil {
			return err
		}
		sizes[o.Key] = o.Size
	}
	for _, s := range m.Streams {
		for n, v := range s.Volumes {
			key := m.volumeKey(s.Name, n)
			if size, ok := sizes[key]; ok && size == v.Bytes {
				continue
			} else if ok {
				return fmt.Errorf("%w: %s has %d bytes instead of %d; it was left as it is", ErrExists, key, size, v.Bytes)
			}
			err := a.importVolume(ctx, from, key, v, options)
			if errors.Is(err, store.ErrExists) {
				continue // another import was faster; the sizes are compared once more before the manifest
			}
			if err != nil {
				return err
			}
			out.Volumes, out.Bytes = out.Volumes+1, out.Bytes+v.Bytes
		}
	}
	return nil
}

// importVolume copies one object. Its last part passes only if its SHA-256 is right.
func (a *Archive) importVolume(ctx context.Context, from *Archive, key string, v Volume, options store.Options) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	u, err := newUpload(ctx, a.patient().store, key, options, nil)
	if err != nil {
		return err
	}
	if _, err := io.Copy(u, newStoredReader(ctx, from.patient().store, key, v)); err != nil {
		if errors.Is(err, store.ErrNotFound) {
			err = fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		return errors.Join(err, u.abort())
	}
	_, _, err = u.commit()
	return err
}

// signers are the names of the keys that signed, as far as they can be read.
func signers(body []byte) []string {
	var out []string
	_, err := note.Open(body, note.VerifierList())
	if unverified, ok := errors.AsType[*note.UnverifiedNoteError](err); ok {
		for _, s := range unverified.Note.UnverifiedSigs {
			out = append(out, s.Name)
		}
	}
	return out
}
