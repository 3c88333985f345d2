package helper

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/disk"
)

// markerSuffix names the file beside a data directory that says which
// operation made it.
const markerSuffix = ".dbop-loaded"

// target is the data directory of a load, and what is unfinished beside it.
type target struct{ into, staging, operation string }

func (t target) marker() string { return t.into + markerSuffix }
func (t target) file() string   { return filepath.Join(t.staging, "snapshot") }
func (t target) out() string    { return filepath.Join(t.staging, "out") }

// loaded reports whether this operation made the data directory. An empty
// directory counts as none; any other content is ErrOccupied.
//
// The marker alone proves nothing, for it is written first; but since the
// directory was absent then, marker and content together prove it.
func (t target) loaded() (bool, error) {
	entries, err := os.ReadDir(t.into)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(entries) == 0:
		return false, nil
	case errors.Is(err, syscall.ENOTDIR):
		return false, fmt.Errorf("%w: %s is not a directory", ErrOccupied, t.into)
	case err != nil:
		return false, err
	}
	owner, err := os.ReadFile(t.marker())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, fmt.Errorf("%w: %s holds data of a running or earlier member; load into an empty volume", ErrOccupied,
			t.into)
	case err != nil:
		return false, err
	case string(owner) != t.operation+"\n":
		return false, fmt.Errorf("%w: operation %.80q loaded %s, this is %q; load into an empty volume",
			ErrOccupied, owner, t.into, t.operation)
	}
	return true, nil
}

// clear removes what an unfinished load left. It removes nothing else, should
// the staging directory be somebody's by mistake.
func (t target) clear() error {
	err := errors.Join(gone(os.Remove(t.file())), os.RemoveAll(t.out()))
	if err == nil {
		err = gone(os.Remove(t.staging))
	}
	if err != nil {
		return fmt.Errorf("clear staging directory %s: %w", t.staging, err)
	}
	return nil
}

func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// stage makes an empty staging directory.
func (t target) stage() error {
	if err := t.clear(); err != nil {
		return err
	}
	if err := os.MkdirAll(t.staging, 0o700); err != nil {
		return fmt.Errorf("make staging directory: %w", err)
	}
	return nil
}

// publish moves what the command made into place.
func (t target) publish() error {
	entries, err := os.ReadDir(t.out())
	if err != nil || len(entries) == 0 {
		return fmt.Errorf("%w: it ended well but made nothing in %s", ErrCommand, t.out())
	}
	if err := disk.SyncTree(t.out()); err != nil {
		return err
	}
	if err := disk.Replace(t.marker(), []byte(t.operation+"\n")); err != nil {
		return err
	}
	// Only an empty directory goes away like this.
	if err := gone(os.Remove(t.into)); err != nil {
		return fmt.Errorf("make way for the data: %w; is it a mount point? then load into a directory below it", err)
	}
	if err := os.Rename(t.out(), t.into); err != nil {
		return fmt.Errorf("move the data into place: %w", err)
	}
	return disk.SyncDir(filepath.Dir(t.into))
}
