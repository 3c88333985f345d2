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
//
// Where the backup holds changes, the one that it adds to must follow in the same file. The directory is then the one
// that pg_combinebackup makes of the two; no more of them is on the disk at any time than the file and the directory.
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
	a := &archive{}
	u := &unpacker{contents: newContents(), root: root, at: func() int64 { return a.at }, changes: map[key]span{}}
	c := &combiner{contents: newContents(), source: file, root: root, changes: u.changes, made: map[key]listed{}}
	a.visitor = u
	a.next = func() (visitor, error) { return c, u.full() }
	defer func() { err = errors.Join(err, u.close(), c.close()) }()
	if _, err := io.CopyBuffer(onlyWriter{a}, file, make([]byte, readSize)); err != nil {
		return Facts{}, fmt.Errorf("unpack a base backup: %w", err)
	}
	if err := a.close(); err != nil {
		return Facts{}, err
	}
	if f, err = u.complete(); err != nil || !f.Incremental() {
		return f, err
	}
	if a.visitor != visitor(c) {
		return f, bad("it holds only what changed since another backup, which does not follow")
	}
	return f, c.finish(f, u.manifestAt)
}

// span is where a file is in the archive.
type span struct{ at, size int64 }

// unpacker is a visitor that also writes the files, and notes where changes of files are.
type unpacker struct {
	*contents

	root *os.Root
	file *os.File
	// at is the place in the archive behind the last header.
	at func() int64
	// changes are by the hash of the name of the file that changed.
	changes    map[key]span
	manifestAt span
}

// full fails unless another backup is to follow.
func (u *unpacker) full() error {
	f, err := u.complete()
	if err == nil && !f.Incremental() {
		err = bad("something follows the end of the archive")
	}
	return err
}

func (u *unpacker) begin(e entry) (err error) {
	if err := u.contents.begin(e); err != nil {
		return err
	}
	if e.name == manifestName {
		u.manifestAt = span{u.at(), e.size}
	}
	if e.kind == kindDirectory {
		// The server sends the directory of the log more than once.
		if err := u.root.Mkdir(e.name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("make a directory: %w", err)
		}
		return nil
	}
	if name, found := changedName(e.name); found {
		u.changes[keyOf(name)] = span{u.at(), e.size}
		return nil
	}
	if u.file, err = create(u.root, e.name); err != nil {
		return err
	}
	return nil
}

func create(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make a file: %w", err)
	}
	return f, nil
}

func (u *unpacker) data(p []byte) error {
	if u.file != nil {
		if _, err := u.file.Write(p); err != nil {
			return fmt.Errorf("write a file: %w", err)
		}
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
