package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/disk"
)

// partDirectory holds what is unfinished. Its name begins with a dot, so that no key leads into it.
const partDirectory = ".part"

// Directory is a store in a directory: the key of an object is its path. Several processes may use one
// directory. A crash leaves files in its subdirectory ".part", which Sweep removes, and nothing else.
type Directory struct {
	root string
	// directories and files are the modes of what is made here.
	directories, files fs.FileMode
	shared             bool
	// fail, if set, is asked before each change of the disk, so that tests can stop there.
	fail func(step string) error
}

var _ Store = (*Directory)(nil)

// NewDirectory names a store by an absolute path. Nothing is read or made; the first object makes the directory.
func NewDirectory(path string) (*Directory, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("open a store: directory %q is relative; give its absolute path", path)
	}
	return &Directory{root: filepath.Clean(path), directories: 0o700, files: 0o600}, nil
}

// NewSharedDirectory is NewDirectory for a volume on which pods with other users read: the group of who writes may read
// what is stored.
func NewSharedDirectory(path string) (*Directory, error) {
	d, err := NewDirectory(path)
	if err == nil {
		d.directories, d.files, d.shared = 0o750, 0o640, true
	}
	return d, err
}

// share lets those read the directory, which may be older, who may read what it holds.
func (d *Directory) share() {
	info, err := os.Stat(d.root)
	if err == nil && d.shared && info.Mode().Perm()|d.directories != info.Mode().Perm() {
		_ = os.Chmod(d.root, info.Mode()|d.directories) // it may be of somebody else: then readers say what they lack
	}
}

// URL is "dir:" and the path.
func (d *Directory) URL() string { return "dir:" + d.root }

// Close does nothing; a Directory holds nothing open.
func (d *Directory) Close() error { return nil }

// Capabilities of a directory: it has no retention and no versions.
func (d *Directory) Capabilities(context.Context) (Capabilities, error) {
	at := d.root
	for { // the directory is made with the first object
		free, err := disk.Free(at)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			return Capabilities{Free: free}, nil
		}
		at = filepath.Dir(at)
	}
}

// Put writes a temporary file, makes it durable and links it to its name, which fails if the name is taken.
func (d *Directory) Put(ctx context.Context, key string, body []byte, o Options) error {
	u, err := d.begin(ctx, key, o)
	if err != nil {
		return err
	}
	if _, err = u.file.Write(body); err != nil {
		return errors.Join(d.explain(err, "write "+key), u.Abort(ctx))
	}
	return u.finish(ctx, int64(len(body)))
}

// Get opens a file at an offset.
func (d *Directory) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	if err := d.check(ctx, key); err != nil {
		return nil, err
	}
	f, err := os.Open(d.path(key))
	if err == nil && offset > 0 {
		_, err = f.Seek(offset, io.SeekStart)
	}
	if err != nil {
		return nil, d.explain(err, "read "+key)
	}
	var r io.Reader = f
	if length >= 0 {
		r = io.LimitReader(f, length)
	}
	return &fileReader{Reader: r, Closer: f, ctx: ctx}, nil
}

// fileReader holds the context of the one stream that it is.
type fileReader struct {
	io.Reader
	io.Closer

	ctx context.Context
}

func (r *fileReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// Head describes one file.
func (d *Directory) Head(ctx context.Context, key string) (Object, error) {
	if err := d.check(ctx, key); err != nil {
		return Object{}, err
	}
	info, err := os.Stat(d.path(key))
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return Object{}, d.explain(err, "ask for "+key)
	}
	return Object{Key: key, Size: info.Size(), Modified: info.ModTime()}, nil
}

// Delete removes a file, durably, and the directories that it leaves empty.
func (d *Directory) Delete(ctx context.Context, key string) error {
	if err := d.check(ctx, key); err != nil {
		return err
	}
	path := d.path(key)
	err := d.step("remove")
	if err == nil {
		err = os.Remove(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = disk.SyncDir(filepath.Dir(path))
	}
	if err != nil {
		return d.explain(err, "delete "+key)
	}
	// One that is not empty stays, as does one in which another process has just put a file.
	for dir := filepath.Dir(path); dir != d.root && os.Remove(dir) == nil; dir = filepath.Dir(dir) {
	}
	return nil
}

// Sweep removes unfinished files under any prefix. Those of a running process are younger than before.
func (d *Directory) Sweep(ctx context.Context, prefix string, before time.Time) (int, error) {
	entries, err := os.ReadDir(filepath.Join(d.root, partDirectory))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, d.explain(err, "list unfinished files")
	}
	swept := 0
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return swept, err
		}
		info, err := e.Info()
		if err != nil || !info.ModTime().Before(before) || !strings.HasPrefix(e.Name(), partName(prefix)) {
			continue // gone already, in use, or of somebody else
		}
		if err := os.Remove(filepath.Join(d.root, partDirectory, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return swept, d.explain(err, "remove an unfinished file")
		}
		swept++
	}
	return swept, nil
}

func (d *Directory) path(key string) string { return filepath.Join(d.root, filepath.FromSlash(key)) }

func (d *Directory) check(ctx context.Context, key string) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	return ctx.Err()
}

func (d *Directory) step(name string) error {
	if d.fail == nil {
		return nil
	}
	return d.fail(name)
}

// partName is the beginning of the name of an unfinished file. It is cut where a file name ends.
func partName(key string) string {
	name := strings.ReplaceAll(key, "/", "~")
	return name[:min(len(name), MaxSegment-30)]
}

// begin makes an unfinished file.
func (d *Directory) begin(ctx context.Context, key string, o Options) (*directoryUpload, error) {
	if err := d.check(ctx, key); err != nil {
		return nil, err
	}
	if !o.RetainUntil.IsZero() {
		return nil, fmt.Errorf("%w: a directory can't keep %s from being deleted; use a bucket with object lock",
			ErrUnsupported, key)
	}
	dir := filepath.Join(d.root, partDirectory)
	err := d.step("mkdir")
	if err == nil {
		err = d.makeDir(dir)
	}
	if err != nil {
		return nil, d.explain(err, "make a directory for "+key)
	}
	d.share()
	part := filepath.Join(dir, partName(key)+"~"+rand.Text())
	var f *os.File
	if err = d.step("create"); err == nil {
		f, err = os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, d.files) //nolint:gosec // the path is made here
	}
	if err != nil {
		return nil, d.explain(err, "begin "+key)
	}
	return &directoryUpload{store: d, key: key, part: part, file: f}, nil
}

// explain says what was attempted where, in the words of this package.
func (d *Directory) explain(err error, attempt string) error {
	typed := error(nil)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		typed = ErrNotFound
	case errors.Is(err, fs.ErrPermission):
		typed = ErrDenied
	case disk.Full(err):
		typed = ErrFull
	default:
		return fmt.Errorf("%s in %s: %w", attempt, d.URL(), err)
	}
	return fmt.Errorf("%s in %s: %w: %w", attempt, d.URL(), typed, err)
}
