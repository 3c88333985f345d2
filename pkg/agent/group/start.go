package group

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// start identifies one start of an agent. The nonce tells two starts with one number apart: a volume that was rolled
// back counts again from an old number.
type start struct {
	Number uint64 `json:"number"`
	Nonce  uint64 `json:"nonce"`
}

// nextStart writes the next start to the directory before the agent speaks to anybody.
func nextStart(directory string) (start, error) {
	var s start
	path := filepath.Join(directory, "start.json")
	raw, err := os.ReadFile(path) //nolint:gosec // the path is ours
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return s, fmt.Errorf("read the number of the last start: %w", err)
	default:
		if err := json.Unmarshal(raw, &s); err != nil {
			return s, fmt.Errorf("read the number of the last start in %s: %w", path, err)
		}
	}
	s.Number++
	var nonce [8]byte
	if _, err := rand.Read(nonce[:]); err != nil {
		return s, err
	}
	s.Nonce = binary.BigEndian.Uint64(nonce[:])
	return s, writeDurably(path, s)
}

// writeDurably replaces a file. After a crash it holds the old content or the new one.
func writeDurably(path string, content any) error {
	raw, err := json.Marshal(content)
	if err != nil {
		return err
	}
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
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return errors.Join(d.Sync(), d.Close())
}
