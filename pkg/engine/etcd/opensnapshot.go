package etcd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// OpenSnapshot implements engine.Snapshotter. The trailer behind the last page
// does not disturb the database.
func (*Engine) OpenSnapshot(path string, checked bool) (engine.SnapshotFacts, error) {
	if !checked {
		if err := checkFile(path); err != nil {
			return engine.SnapshotFacts{}, fmt.Errorf("open snapshot %s: %w", path, err)
		}
	}
	found := newContents()
	if err := found.read(path); err != nil {
		return engine.SnapshotFacts{}, fmt.Errorf("open snapshot %s: %w", path, err)
	}
	return found.facts, nil
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
