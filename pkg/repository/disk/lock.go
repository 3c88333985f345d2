package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// attempts bounds how often a lock file may vanish under Acquire: each time,
// another holder has just finished with it.
const attempts = 64

// maxNote bounds what is read from a lock file.
const maxNote = 4096

// Lock is an exclusively locked file with a note inside. The lock ends with
// the process; the note outlives a crash and says who was at work.
//
// Where the system has no such locks only the note protects.
type Lock struct {
	file *os.File
	path string
}

// Acquire opens or creates the file and locks it, without waiting: ErrLocked
// (wrapped) if somebody else holds it.
func Acquire(path string) (*Lock, error) {
	for range attempts {
		f, err := os.OpenFile(filepath.Clean(path), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if err := lock(f); err != nil {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
		}
		current, err := isAt(f, path)
		if current && err == nil {
			return &Lock{file: f, path: path}, nil
		}
		// The file that was locked had been removed by its last holder; the
		// lock on it excludes nobody.
		if closed := f.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
	}
	return nil, fmt.Errorf("lock %s: %w", path, ErrLocked)
}

// Note is what the last holder wrote, "" for a new or broken note.
func (l *Lock) Note() (string, error) {
	b, err := io.ReadAll(io.NewSectionReader(l.file, 0, maxNote))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", l.path, err)
	}
	return string(b), nil
}

// SetNote replaces the note, durably. A crash may leave it empty or cut short.
func (l *Lock) SetNote(note string) error {
	err := l.file.Truncate(0)
	if err == nil {
		_, err = l.file.WriteAt([]byte(note), 0)
	}
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", l.path, err)
	}
	return nil
}

// Unlock leaves the file with its note, as a crash would.
func (l *Lock) Unlock() error { return l.file.Close() }

// Release removes the file and unlocks it.
func (l *Lock) Release() error { return release(l.file, l.path) }

func isAt(f *os.File, path string) (bool, error) {
	held, err := f.Stat()
	if err != nil {
		return false, err
	}
	now, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(held, now), err
}
