package repository

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/disk"
)

// Directory is a repository in a local directory: "<id>.snapshot" holds the
// data and "<id>.json" the manifest. Everything else that it makes ends in
// ".part" and means nothing. Several processes may use one directory.
type Directory struct {
	path  string
	files files
}

var _ Repository = (*Directory)(nil)

// NewDirectory names a repository by an absolute path. Nothing is read or
// made; the first backup, or Prepare, makes the directory.
func NewDirectory(path string) (*Directory, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("%w: directory %q is relative; give its absolute path", ErrLocation, path)
	}
	return &Directory{path: filepath.Clean(path), files: osFiles{}}, nil
}

// URL is "dir:" and the path.
func (d *Directory) URL() string {
	return Location{Kind: KindDirectory, Path: d.path}.String()
}

// Prepare makes the directory, for its owner only, unless it is there. A
// repeat does nothing.
func (d *Directory) Prepare() error {
	if _, err := os.Stat(d.path); err == nil {
		return nil
	}
	err := d.files.mkdir(d.path)
	if err == nil {
		err = d.files.syncDir(filepath.Dir(d.path))
	}
	if err != nil {
		return d.explain(err, "make the repository")
	}
	return nil
}

// Get returns the manifest of one backup: ErrNotFound, or ErrDamaged if the
// manifest can't be read. It does not read the data.
func (d *Directory) Get(ctx context.Context, id string) (Manifest, error) {
	if err := begin(ctx, id); err != nil {
		return Manifest{}, err
	}
	return d.manifest(id)
}

// List returns every readable manifest of the cluster, or of all clusters for
// "", newest first. Each manifest that can't be read is left out and is a
// Damaged in the error, see SplitDamaged; the list is complete but for them. A
// directory that does not exist is an error that wraps fs.ErrNotExist.
func (d *Directory) List(ctx context.Context, cluster string) ([]Manifest, error) {
	entries, err := os.ReadDir(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list backups: no repository at %s yet; check the path, or take a first backup: %w", d.URL(),
			err)
	}
	if err != nil {
		return nil, fmt.Errorf("list backups in %s: %w", d.URL(), err)
	}
	var (
		list   []Manifest
		broken []error
	)
	for _, entry := range entries {
		id, ok := strings.CutSuffix(entry.Name(), manifestSuffix)
		if !ok || !ValidID(id) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("list backups in %s: %w", d.URL(), err)
		}
		m, err := d.manifest(id)
		switch {
		case errors.Is(err, ErrNotFound):
			// Deleted since the directory was read.
		case err != nil && (cluster == "" || belongs(id, cluster)):
			broken = append(broken, &Damaged{ID: id, Err: err})
		case err == nil && (cluster == "" || m.Cluster == cluster):
			list = append(list, m)
		}
	}
	slices.SortFunc(list, newestFirst)
	return list, errors.Join(broken...)
}

// Close does nothing; a Directory holds nothing open.
func (d *Directory) Close() error { return nil }

func newestFirst(a, b Manifest) int {
	if c := b.StartedAt.Compare(a.StartedAt); c != 0 {
		return c
	}
	return strings.Compare(b.ID, a.ID)
}

// begin guards every method that takes an identifier: one that isn't valid
// could lead out of the directory.
func begin(ctx context.Context, id string) error {
	if err := CheckID(id); err != nil {
		return err
	}
	return ctx.Err()
}

func (d *Directory) manifestPath(id string) string { return filepath.Join(d.path, id+manifestSuffix) }
func (d *Directory) dataPath(id string) string     { return filepath.Join(d.path, id+dataSuffix) }
func (d *Directory) partPath(id string) string     { return d.dataPath(id) + partSuffix }
func (d *Directory) claimPath(id string) string    { return filepath.Join(d.path, id+claimSuffix) }

// explain says what was attempted where and, for a full disk, what to do.
func (d *Directory) explain(err error, attempt string) error {
	if !disk.Full(err) {
		return fmt.Errorf("%s in %s: %w", attempt, d.URL(), err)
	}
	left := "free space unknown"
	if free, unknown := disk.Free(d.path); unknown == nil {
		left = fmt.Sprintf("%d bytes free", free)
	}
	return fmt.Errorf("%s in %s (%s): %w; delete old backups, make room there, or choose a larger repository: %w",
		attempt, d.URL(), left, ErrNoSpace, err)
}
