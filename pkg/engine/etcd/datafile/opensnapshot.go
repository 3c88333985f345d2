package datafile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// CheckFile checks the trailer that the server appended.
func CheckFile(path string) (err error) {
	file, err := os.Open(filepath.Clean(path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	check := NewChecksum()
	if _, err := io.Copy(check, file); err != nil {
		return err
	}
	return check.Close()
}
