package bucket

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// Directory is a copy of a repository of this format in a directory, such as one that was fetched from a bucket: it is
// read with the keys of r. The path is absolute.
func (r *Repository) Directory(path string) (*Repository, error) {
	at, err := store.NewDirectory(path)
	if err != nil {
		return nil, fmt.Errorf("open the repository in %s: %w", path, err)
	}
	out := *r
	out.store, out.archive = at, r.archive.In(at)
	out.description.Name, out.description.URL = "dir:"+path, at.URL()
	return &out, nil
}

// IDs are the identifiers of all backups, oldest first.
func (r *Repository) IDs(ctx context.Context) ([]string, error) {
	c, err := r.archive.List(ctx, archive.Scope{})
	if err != nil {
		return nil, r.explain(err)
	}
	var out []string
	for _, e := range slices.Backward(c.Entries) {
		out = append(out, e.ID)
	}
	return slices.Compact(out), nil
}

// WithParents adds the backups that some add to: each comes before those that add to it, and none twice.
func (r *Repository) WithParents(ctx context.Context, ids []string) ([]string, error) {
	c, err := r.archive.List(ctx, archive.Scope{})
	if err != nil {
		return nil, r.explain(err)
	}
	parents, byAttempt := map[string]string{}, map[string]string{}
	for _, e := range c.Entries {
		byAttempt[e.Attempt] = e.ID
	}
	for _, e := range c.Entries {
		parents[e.ID] = byAttempt[e.Parent]
	}
	var out []string
	for _, id := range ids {
		for _, one := range []string{parents[id], id} {
			if one != "" && !slices.Contains(out, one) {
				out = append(out, one)
			}
		}
	}
	return out, nil
}

// Importer copies backups of another repository. It lists what both have once, however many it copies.
type Importer struct {
	to, from *Repository
	copies   *archive.Importer
	entries  []archive.Entry
}

// Importer is one that copies from another repository to this one.
func (r *Repository) Importer(ctx context.Context, from *Repository) (*Importer, error) {
	c, err := from.archive.List(ctx, archive.Scope{})
	if err != nil {
		return nil, from.explain(err)
	}
	copies, err := r.archive.Importer(ctx, from.archive)
	if err != nil {
		return nil, r.explain(err)
	}
	return &Importer{to: r, from: from, copies: copies, entries: c.Entries}, nil
}

// Import copies a backup as it is; see archive.Importer.Import. ErrNotFound if the other repository has none of the
// identifier.
func (i *Importer) Import(ctx context.Context, id string) (*archive.Imported, error) {
	if err := repository.CheckID(id); err != nil {
		return nil, err
	}
	for _, e := range slices.Backward(i.entries) {
		if e.ID != id {
			continue
		}
		out, err := i.copies.Import(ctx, e)
		if errors.Is(err, archive.ErrSignature) {
			// It is whole, and of somebody whom nobody here trusts.
			return nil, fmt.Errorf("repository %s: %w", i.to.URL(), err)
		}
		return out, i.to.explain(err)
	}
	return nil, fmt.Errorf("%w: %s in %s", repository.ErrNotFound, id, i.from.URL())
}

// ImportLogs copies the logs that go on from imported backups; see archive.Archive.ImportLog. It tells of each log by
// the name of its cluster.
func (r *Repository) ImportLogs(ctx context.Context, from *Repository, backups []*archive.Manifest,
	tell func(cluster string, done archive.ImportedLog),
) error {
	type history struct {
		scope       archive.Scope
		incarnation string
	}
	starts := map[history][]archive.LogStart{}
	var order []history
	for _, m := range backups {
		if m.Log == nil {
			continue
		}
		h := history{m.Scope, m.Incarnation}
		if starts[h] == nil {
			order = append(order, h)
		}
		starts[h] = append(starts[h], *m.Log)
	}
	var failed []error
	for _, h := range order {
		done, err := r.archive.ImportLog(ctx, from.archive, h.scope, h.incarnation, starts[h])
		if err != nil {
			failed = append(failed, err) // the log of one cluster keeps no other back
			continue
		}
		tell(h.scope.Cluster, done)
	}
	return errors.Join(failed...)
}
