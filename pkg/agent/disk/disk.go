// Package disk keeps small files of an agent, and its claim to the volume, through crashes.
package disk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace writes content as JSON to a file. After a crash the file holds the old content or the new one.
func Replace(path string, content any) error {
	raw, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return ReplaceBytes(path, raw)
}

// ReplaceBytes does the same with content as it is. Only the owner may read the file.
func ReplaceBytes(path string, raw []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(f.Name()) //nolint:errcheck // it was renamed
	_, err = f.Write(raw)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return Sync(filepath.Dir(path))
}

// Read fills content from a file that Replace wrote, and says whether there is one.
func Read(path string, content any) (bool, error) {
	raw, err := os.ReadFile(path) //nolint:gosec // the path is ours
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read %s: %w", path, err)
	}
	if err := json.Unmarshal(raw, content); err != nil {
		return false, fmt.Errorf("read %s: %w", path, err)
	}
	return true, nil
}

// Sync makes the names in a directory durable.
func Sync(directory string) error {
	d, err := os.Open(directory) //nolint:gosec // the path is ours
	if err != nil {
		return fmt.Errorf("flush the directory %s: %w", directory, err)
	}
	return errors.Join(d.Sync(), d.Close())
}
