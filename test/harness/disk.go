package harness

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/disk"
)

// filler is the file that takes a volume's space.
const filler = "filler"

// Fill takes all the space that a volume has left; Empty gives it back.
func Fill(volume string) (err error) {
	f, err := os.OpenFile(filepath.Join(volume, filler), os.O_CREATE|os.O_WRONLY|os.O_APPEND,
		0o600) // #nosec G304 -- a test's own volume
	if err != nil {
		return fmt.Errorf("fill %s: %w", volume, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	// Ever smaller pieces, so that nothing is left in the end.
	for size := 4 << 20; size >= 512; {
		_, err := f.Write(make([]byte, size))
		switch {
		case errors.Is(err, syscall.ENOSPC):
			size /= 8
		case err != nil:
			return fmt.Errorf("fill %s: %w", volume, err)
		}
	}
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("fill %s: %w", volume, err)
	}
	return nil
}

// FillBut takes the space of a volume but so many bytes; Empty gives it back.
func FillBut(volume string, left int64) (err error) {
	free, err := disk.Free(volume)
	if err != nil || free <= left {
		return err
	}
	f, err := os.OpenFile(filepath.Join(volume, filler), os.O_CREATE|os.O_WRONLY,
		0o600) // #nosec G304 -- a test's own volume
	if err != nil {
		return fmt.Errorf("fill %s: %w", volume, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := syscall.Fallocate(int(f.Fd()), 0, 0, free-left); err != nil {
		return fmt.Errorf("fill %s: %w", volume, err)
	}
	return nil
}

// Empty gives back what Fill took.
func Empty(volume string) error {
	if err := os.Remove(filepath.Join(volume, filler)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("empty %s: %w", volume, err)
	}
	return nil
}

// FlipBit flips one bit of every copy of some text in a file, as a bad disk
// would flip one, and returns how many copies there were.
func FlipBit(file, text string) (int, error) {
	f, err := os.OpenFile(file, os.O_RDWR, 0) // #nosec G304 -- a test's own volume
	if err != nil {
		return 0, fmt.Errorf("open a data file: %w", err)
	}
	content, err := os.ReadFile(file) // #nosec G304 -- the same
	if err != nil {
		return 0, errors.Join(fmt.Errorf("read a data file: %w", err), f.Close())
	}
	flipped := 0
	for at := 0; ; {
		i := bytes.Index(content[at:], []byte(text))
		if i < 0 {
			break
		}
		last := at + i + len(text) - 1
		if _, err := f.WriteAt([]byte{content[last] ^ 1}, int64(last)); err != nil {
			return flipped, errors.Join(fmt.Errorf("damage a data file: %w", err), f.Close())
		}
		flipped, at = flipped+1, last+1
	}
	if err := f.Close(); err != nil {
		return flipped, fmt.Errorf("damage a data file: %w", err)
	}
	if flipped == 0 {
		return 0, fmt.Errorf("%s does not hold %q", file, text)
	}
	return flipped, nil
}
