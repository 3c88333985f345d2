package bucket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// Repository is a repository of format 2 with backups of one file each. It is safe for concurrent use.
type Repository struct {
	description Description
	namespace   string
	staging     string
	store       store.Store
	archive     *archive.Archive
}

var (
	_ repository.Repository = (*Repository)(nil)
	_ repository.Presence   = (*Repository)(nil)
	_ repository.Holder     = (*Repository)(nil)
)

// Open opens a repository for backups of clusters of one namespace, and to read those of all. What is backed up is
// kept in a file in staging until the engine has read it; "" is the directory for temporary files. Nothing is
// dialled before the first call.
func Open(d Description, secrets Secrets, namespace, staging string) (*Repository, error) {
	if err := d.Check(); err != nil {
		return nil, err
	}
	s, err := d.Store(secrets)
	if err != nil {
		return nil, err
	}
	return OpenIn(d, secrets, s, namespace, staging)
}

// OpenIn is Open for a repository in a store that is open already. Close of the repository closes it.
func OpenIn(d Description, secrets Secrets, s store.Store, namespace, staging string) (*Repository, error) {
	if err := d.Check(); err != nil {
		return nil, err
	}
	keys, err := d.keys(secrets)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDescription, d.Name, err)
	}
	if staging == "" {
		staging = os.TempDir()
	}
	if d.Bandwidth > 0 {
		s = store.Limit(s, int(d.Bandwidth))
	}
	return &Repository{description: d, namespace: namespace, staging: staging, store: s,
		archive: archive.Open(s, keys).Retaining(d.retain())}, nil
}

// URL is the name of the repository.
func (r *Repository) URL() string { return r.description.Name }

// Archive is the catalogue, holds and proofs below.
func (r *Repository) Archive() *archive.Archive { return r.archive }

// Close releases connections.
func (r *Repository) Close() error { return r.store.Close() }

// Probe proves that an object can be written, seen and deleted. How much space is left is known of a claim alone.
func (r *Repository) Probe(ctx context.Context) (free int64, err error) {
	if _, _, err := store.Clock(ctx, r.store); err != nil {
		return -1, r.explain(fmt.Errorf("write to %s: %w", r.description.URL, err))
	}
	if _, ok := r.description.Claim(); !ok {
		return -1, nil
	}
	c, err := r.store.Capabilities(ctx)
	if err != nil || c.Free == 0 {
		return -1, r.explain(err)
	}
	return c.Free, nil
}

// Get reads one manifest and verifies its signature.
func (r *Repository) Get(ctx context.Context, id string) (repository.Manifest, error) {
	e, err := r.find(ctx, id)
	if err != nil {
		return repository.Manifest{}, err
	}
	m, err := r.archive.Manifest(ctx, e)
	if err != nil {
		return repository.Manifest{}, r.explain(err)
	}
	out, err := fromArchive(m)
	if err != nil {
		return out, err
	}
	best, err := r.archive.BestProof(ctx, e)
	if err != nil {
		return out, r.explain(err)
	}
	failed, err := r.archive.FailedProof(ctx, e)
	return proven(out, best, failed), r.explain(err)
}

// List returns what the names of objects tell: no manifest is read, so much is missing in what it returns.
func (r *Repository) List(ctx context.Context, cluster string) ([]repository.Manifest, error) {
	c, err := r.archive.List(ctx, archive.Scope{})
	if err != nil {
		return nil, r.explain(err)
	}
	ids := map[string]string{}
	for _, e := range c.Entries {
		ids[e.Attempt] = e.ID
	}
	out := []repository.Manifest{}
	for _, e := range c.Entries {
		if cluster != "" && e.Cluster != cluster {
			continue
		}
		m := fromEntry(e)
		m.Parent = cmp.Or(ids[e.Parent], e.Parent)
		out = append(out, m)
	}
	return out, nil
}

// Reader decrypts, decompresses and compares. The end of the stream comes only if every byte was right.
func (r *Repository) Reader(ctx context.Context, id string) (io.ReadCloser, repository.Manifest, error) {
	e, err := r.find(ctx, id)
	if err != nil {
		return nil, repository.Manifest{}, err
	}
	m, err := r.archive.Manifest(ctx, e)
	if err != nil {
		return nil, repository.Manifest{}, r.explain(err)
	}
	out, err := fromArchive(m)
	if err != nil {
		return nil, out, err
	}
	in, err := r.archive.Read(ctx, m, stream)
	if err != nil {
		return nil, out, r.explain(err)
	}
	return &reader{ReadCloser: in, repository: r}, proven(out, e.Proof, e.Failed), nil
}

// reader gives errors their types.
type reader struct {
	io.ReadCloser

	repository *Repository
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = r.repository.explain(err)
	}
	return n, err
}

// AddProof stores what a verification found, as an object of its own. Its time is that of this machine.
func (r *Repository) AddProof(ctx context.Context, id string, p repository.Proof) error {
	e, err := r.find(ctx, id)
	if err != nil {
		return err
	}
	m, err := r.archive.Manifest(ctx, e)
	if err != nil {
		return r.explain(err)
	}
	return r.explain(r.archive.AddProof(ctx, m, archive.Proof{Level: p.Level, Version: p.Version, Tool: p.Tool,
		By: p.By, Checked: p.Checked, Failed: p.Failed, Reason: p.Reason}))
}

// Delete removes manifest, then data. One that is held stays, and so does one that the store retains.
func (r *Repository) Delete(ctx context.Context, id string) error {
	e, err := r.find(ctx, id)
	if err != nil {
		return err
	}
	err = r.archive.Remove(ctx, e)
	if errors.Is(err, store.ErrRetained) {
		err = fmt.Errorf("%w; repeat the command after that", err)
	}
	return r.explain(err)
}

// Present verifies the signature of a manifest, and compares the sizes of all objects with it. So it does with the
// backup that this one adds to.
func (r *Repository) Present(ctx context.Context, id string) error {
	return r.withParent(ctx, id, func(e archive.Entry) error {
		m, err := r.archive.Manifest(ctx, e)
		if err != nil {
			return err
		}
		return r.archive.Verify(ctx, m, archive.LevelPresent)
	})
}

// Prove reads a backup, compares each byte with the signed manifest, and stores the proof: first of the one that it
// adds to. Without a secret key it compares what is stored, and does not decrypt it. That a backup is damaged is stored
// as a proof that failed.
func (r *Repository) Prove(ctx context.Context, id string, by repository.Proof) error {
	own := false
	err := r.withParent(ctx, id, func(e archive.Entry) error {
		own = e.ID == id
		m, err := r.archive.Manifest(ctx, e)
		if err != nil {
			return err
		}
		p := archive.Proof{Level: archive.LevelIntact, Tool: by.Tool, By: by.By}
		p.Checked, err = r.archive.VerifyBytes(ctx, m)
		if errors.Is(err, archive.ErrDamaged) {
			p.Failed, p.Reason = true, err.Error()
		} else if err != nil {
			return err
		}
		return errors.Join(err, r.archive.AddProof(ctx, m, p))
	})
	if !own && errors.Is(err, repository.ErrDamaged) { // without the other one, this one is worth nothing
		by.Level, by.Failed, by.Reason = repository.LevelIntact, true, err.Error()
		return errors.Join(err, r.AddProof(ctx, id, by))
	}
	return err
}

// Hold keeps every prune, wherever it runs, from a backup and from the one that it adds to until that time is over:
// ErrNotFound if one was faster.
func (r *Repository) Hold(ctx context.Context, id string, d time.Duration, reason string) error {
	return r.withParent(ctx, id, func(e archive.Entry) error {
		_, _, err := r.archive.Hold(ctx, e, d, reason)
		return err
	})
}

// withParent does something to the backup that one adds to, if it does, and then to that one.
func (r *Repository) withParent(ctx context.Context, id string, do func(archive.Entry) error) error {
	e, err := r.find(ctx, id)
	if err != nil {
		return err
	}
	if e.Parent != "" {
		full, err := r.attempt(ctx, e.Parent)
		if err == nil {
			err = r.explain(do(full))
		}
		if err != nil {
			return fmt.Errorf("the backup that %s adds to: %w", id, err)
		}
	}
	return r.explain(do(e))
}

// attempt returns the backup of an attempt.
func (r *Repository) attempt(ctx context.Context, attempt string) (archive.Entry, error) {
	return r.first(ctx, "attempt "+attempt, func(e archive.Entry) bool { return e.Attempt == attempt })
}

// find returns a backup among all clusters: an identifier is unique in its repository.
func (r *Repository) find(ctx context.Context, id string) (archive.Entry, error) {
	if err := repository.CheckID(id); err != nil {
		return archive.Entry{}, err
	}
	return r.first(ctx, id, func(e archive.Entry) bool { return e.ID == id })
}

// first is the oldest backup that is the one.
func (r *Repository) first(ctx context.Context, what string, is func(archive.Entry) bool) (archive.Entry, error) {
	c, err := r.archive.List(ctx, archive.Scope{})
	if err != nil {
		return archive.Entry{}, r.explain(err)
	}
	for _, e := range slices.Backward(c.Entries) {
		if is(e) {
			return e, nil
		}
	}
	return archive.Entry{}, fmt.Errorf("%w: %s in %s", repository.ErrNotFound, what, r.URL())
}

// explain names the repository and gives errors the types that callers know.
func (r *Repository) explain(err error) error {
	if err == nil {
		return nil
	}
	for from, to := range map[error]error{
		archive.ErrNotFound: repository.ErrNotFound, archive.ErrExists: repository.ErrExists,
		archive.ErrDamaged: repository.ErrDamaged, archive.ErrSignature: repository.ErrDamaged,
		archive.ErrFormat: repository.ErrFormat, archive.ErrNeeded: repository.ErrNeeded,
		store.ErrFull: repository.ErrNoSpace,
	} {
		if errors.Is(err, from) {
			return fmt.Errorf("repository %s: %w: %w", r.URL(), to, err)
		}
	}
	return fmt.Errorf("repository %s: %w", r.URL(), err)
}
