package basebackup

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Unpack makes a directory of a base backup. It never writes over anything, nor outside of the directory, which must
// not exist. After an error what it made is worthless. Nothing is flushed to the disk.
func Unpack(path, directory string) (f Facts, err error) {
	file, err := os.Open(path) //nolint:gosec // the caller names it
	if err != nil {
		return Facts{}, fmt.Errorf("open a base backup: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := os.Mkdir(directory, 0o700); err != nil {
		return Facts{}, fmt.Errorf("unpack a base backup: %w", err)
	}
	root, err := os.OpenRoot(directory)
	if err != nil {
		return Facts{}, fmt.Errorf("unpack a base backup: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	c := newContents()
	u := &unpacker{contents: c, root: root}
	defer func() { err = errors.Join(err, u.close()) }()
	a := archive{visitor: u}
	if _, err := io.CopyBuffer(onlyWriter{&a}, file, make([]byte, readSize)); err != nil {
		return Facts{}, fmt.Errorf("unpack a base backup: %w", err)
	}
	if err := a.close(); err != nil {
		return Facts{}, err
	}
	return c.complete()
}

// unpacker is a visitor that also writes the files.
type unpacker struct {
	*contents

	root *os.Root
	file *os.File
}

func (u *unpacker) begin(e entry) (err error) {
	if err := u.contents.begin(e); err != nil {
		return err
	}
	if e.kind == kindDirectory {
		// The server sends the directory of the log more than once.
		if err := u.root.Mkdir(e.name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("make a directory: %w", err)
		}
		return nil
	}
	if u.file, err = u.root.OpenFile(e.name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err != nil {
		return fmt.Errorf("make a file: %w", err)
	}
	return nil
}

func (u *unpacker) data(p []byte) error {
	if _, err := u.file.Write(p); err != nil {
		return fmt.Errorf("write a file: %w", err)
	}
	return u.contents.data(p)
}

func (u *unpacker) end() error { return errors.Join(u.contents.end(), u.close()) }

func (u *unpacker) close() error {
	if u.file == nil {
		return nil
	}
	f := u.file
	u.file = nil
	return f.Close()
}
