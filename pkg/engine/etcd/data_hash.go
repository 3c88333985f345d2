package etcd

import (
	"fmt"
	"path/filepath"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/client"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/datafile"
)

var (
	_ engine.DataHasher   = (*Engine)(nil)
	_ engine.HashVerifier = (*client.Session)(nil)
)

// DataHash implements engine.DataHasher. The mark is the hash that etcd itself
// compares its members by, at the last revision of the file: it does not change
// when keys are written, or history is dropped, up to there.
func (*Engine) DataHash(dataDir string) (engine.DataHash, error) {
	c := datafile.NewContents()
	c.History = &datafile.HistoryHash{}
	if err := c.Read(filepath.Join(dataDir, "member", "snap", "db")); err != nil {
		return engine.DataHash{}, fmt.Errorf("read what was loaded: %w", err)
	}
	i := engine.DataHash{Fingerprint: c.Facts.Fingerprint}
	// Without a key that lives, etcd hashes what a compaction is about to drop.
	if c.History.Current > 0 {
		i.Mark = client.Mark(c.Latest, c.Compacted, c.History.Sum())
	}
	return i, nil
}
