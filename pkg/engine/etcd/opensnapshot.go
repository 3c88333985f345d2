package etcd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// OpenSnapshot implements engine.Snapshotter. bbolt trusts the pages that it
// maps and may crash on damaged ones, so the checksum comes first, unless it
// was seen to be right on the way into the file.
func (*Engine) OpenSnapshot(path string, checked bool) (engine.SnapshotFacts, error) {
	if !checked {
		if err := checkFile(path); err != nil {
			return engine.SnapshotFacts{}, fmt.Errorf("open snapshot %s: %w", path, err)
		}
	}
	facts, err := readFile(path)
	if err != nil {
		return engine.SnapshotFacts{}, fmt.Errorf("open snapshot %s: %w", path, err)
	}
	return facts, nil
}

// checkFile checks the trailer that the server appended.
func checkFile(path string) (err error) {
	file, err := os.Open(filepath.Clean(path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	check := newChecksum()
	if _, err := io.Copy(check, file); err != nil {
		return err
	}
	return check.Close()
}

// readFile reads the file as a database; the trailer behind its last page
// does not disturb bbolt.
func readFile(path string) (facts engine.SnapshotFacts, err error) {
	db, err := bolt.Open(path, 0o400, &bolt.Options{ReadOnly: true})
	if err != nil {
		return engine.SnapshotFacts{}, fmt.Errorf("%w: %w", engine.ErrNotSnapshot, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	defer forget(db.Info().Data, path)()
	if err := guarded(db, func(tx *bolt.Tx) error { return checkSize(tx, path) }); err != nil {
		return engine.SnapshotFacts{}, err
	}
	// bbolt checks in a goroutine of its own, where a panic could not be
	// caught: only what could be read is checked.
	err = guarded(db, func(tx *bolt.Tx) (err error) {
		facts, err = readFacts(tx)
		return err
	})
	if err != nil {
		return engine.SnapshotFacts{}, err
	}
	return facts, guarded(db, consistent)
}

// guarded reads in a transaction. A file that was put together wrongly on
// purpose, with a right checksum, shows as a panic or a fault in the mapped
// memory.
func guarded(db *bolt.DB, read func(*bolt.Tx) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w: the database is damaged: %v", engine.ErrNotSnapshot, cause)
		}
	}()
	return db.View(read)
}

// checkSize refuses a database that claims pages beyond the end of its file.
func checkSize(tx *bolt.Tx, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if tx.Size() > info.Size() {
		return fmt.Errorf("the database has %d bytes and its file %d: %w", tx.Size(), info.Size(), engine.ErrNotSnapshot)
	}
	return nil
}

// consistent runs bbolt's own check over all pages. All of its findings must
// be read, or it blocks.
func consistent(tx *bolt.Tx) error {
	var first error
	findings := 0
	for err := range tx.Check() {
		findings++
		if first == nil {
			first = err
		}
	}
	if findings > 0 {
		return fmt.Errorf("the database has %d inconsistencies, the first: %w: %w", findings, first, engine.ErrNotSnapshot)
	}
	return nil
}
