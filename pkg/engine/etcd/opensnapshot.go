package etcd

import (
	"fmt"
	"io"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/datafile"
)

// OpenSnapshot implements engine.Snapshotter. The trailer behind the last page
// does not disturb the database.
func (*Engine) OpenSnapshot(path string, checked bool) (engine.SnapshotFacts, error) {
	if !checked {
		if err := datafile.CheckFile(path); err != nil {
			return engine.SnapshotFacts{}, fmt.Errorf("open snapshot %s: %w", path, err)
		}
	}
	found := datafile.NewContents()
	if err := found.Read(path); err != nil {
		return engine.SnapshotFacts{}, fmt.Errorf("open snapshot %s: %w", path, err)
	}
	return found.Facts, nil
}

// CheckStream implements engine.Snapshotter.
func (*Engine) CheckStream() io.WriteCloser { return datafile.NewChecksum() }
