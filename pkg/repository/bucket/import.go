package bucket

import (
	"context"
	"errors"
	"fmt"
	"slices"

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

// Import copies a backup of another repository here as it is; see archive.Archive.Import. ErrNotFound if that one has
// none of the identifier.
func (r *Repository) Import(ctx context.Context, from *Repository, id string) (*archive.Imported, error) {
	e, err := from.find(ctx, id)
	if err != nil {
		return nil, err
	}
	out, err := r.archive.Import(ctx, from.archive, e)
	if errors.Is(err, archive.ErrSignature) {
		return nil, fmt.Errorf("repository %s: %w", r.URL(), err) // it is whole, and of somebody whom nobody here trusts
	}
	return out, r.explain(err)
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
