package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/disk"
)

// Upload begins a file under a temporary name.
func (d *Directory) Upload(ctx context.Context, key string, o Options) (Upload, error) {
	u, err := d.begin(ctx, key, o)
	if err != nil {
		return nil, err
	}
	return u, nil
}

// directoryUpload is one unfinished file.
type directoryUpload struct {
	store     *Directory
	key, part string
	file      *os.File
	// last is the size of the newest part that is not full; only the last one may be.
	last     atomic.Int64
	finished bool
}

func (u *directoryUpload) Part(ctx context.Context, n int, body []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(body) > PartSize || n < 0 {
		return fmt.Errorf("write %s: part %d has %d bytes, more than %d", u.key, n, len(body), PartSize)
	}
	if len(body) < PartSize {
		u.last.Store(int64(len(body)))
	}
	err := u.store.step("part")
	if err == nil {
		_, err = u.file.WriteAt(body, int64(n)*PartSize)
	}
	if err != nil {
		return u.store.explain(err, fmt.Sprintf("write part %d of %s", n, u.key))
	}
	// The disk takes it while the next parts are made.
	disk.Writeback(u.file, int64(n)*PartSize, int64(len(body)))
	return nil
}

func (u *directoryUpload) Commit(ctx context.Context, parts int) error {
	size := int64(parts) * PartSize
	if last := u.last.Load(); last > 0 {
		size += last - PartSize
	}
	return u.finish(ctx, size)
}

// finish gives the file its name, once it is durable. It drops the file if that fails.
func (u *directoryUpload) finish(ctx context.Context, size int64) error {
	if u.finished {
		return fmt.Errorf("write %s: the upload is finished", u.key)
	}
	err := u.publish(ctx, size)
	if err != nil {
		return errors.Join(err, u.Abort(ctx))
	}
	u.finished = true
	return nil
}

func (u *directoryUpload) publish(ctx context.Context, size int64) error {
	d, dir := u.store, filepath.Dir(u.store.path(u.key))
	if err := ctx.Err(); err != nil {
		return err
	}
	info, err := u.file.Stat()
	if err == nil && info.Size() != size {
		return fmt.Errorf("write %s in %s: it has %d bytes instead of %d; a part is missing", u.key, d.URL(),
			info.Size(), size)
	}
	if err == nil {
		err = d.step("sync")
	}
	if err == nil {
		err = u.file.Sync()
	}
	if err == nil {
		err = u.file.Close()
		u.file = nil
	}
	if err == nil {
		err = d.step("link")
	}
	if err == nil {
		err = d.link(u.part, dir, d.path(u.key))
	}
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("write %s in %s: %w", u.key, d.URL(), ErrExists)
	}
	if err == nil {
		err = d.step("sync directory")
	}
	if err == nil {
		err = disk.SyncDir(dir)
	}
	if err == nil {
		err = d.step("unlink")
	}
	if err != nil {
		return d.explain(err, "write "+u.key)
	}
	// The object is whole and durable. What is left of its first name costs nothing and is swept later.
	_ = os.Remove(u.part)
	return nil
}

// link gives a file a second name. A directory that another process has just found empty and removed is made again.
func (d *Directory) link(part, dir, path string) error {
	for attempt := 1; ; attempt++ {
		if err := d.makeDir(dir); err != nil {
			return err
		}
		err := os.Link(part, path)
		if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) {
			err = renameNew(part, path)
		}
		if !errors.Is(err, fs.ErrNotExist) || attempt == linkAttempts {
			return err
		}
	}
}

// renameNew is for file systems without hard links: a lock keeps two writers of one name apart.
func renameNew(part, path string) (err error) {
	l, err := disk.Acquire(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".lock"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Release()) }()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, fs.ErrExist)
	}
	return os.Rename(part, path)
}

const linkAttempts = 10

// makeDir makes a directory and those above it, durably. A repeat does nothing.
func (d *Directory) makeDir(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	above := filepath.Dir(dir)
	if above != dir {
		if err := d.makeDir(above); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, d.directories); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return disk.SyncDir(above)
}

// Abort removes the temporary file.
func (u *directoryUpload) Abort(context.Context) error {
	if u.finished {
		return nil
	}
	u.finished = true
	var err error
	if u.file != nil {
		err = u.file.Close()
	}
	if removed := os.Remove(u.part); removed != nil && !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	if err != nil {
		return u.store.explain(err, "drop unfinished "+u.key)
	}
	return nil
}
