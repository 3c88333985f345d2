package etcd

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/client"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/datafile"
)

var (
	_ engine.DataHasher   = (*Engine)(nil)
	_ engine.HashVerifier = (*client.Session)(nil)
)

// DataHash implements engine.DataHasher. The mark is the hash that etcd itself
// compares its members by, at the last revision of the member: it does not change
// when keys are written, or history is dropped, up to there.
func (*Engine) DataHash(file string, command []string) (engine.DataHash, error) {
	raise, err := raised(command)
	if err != nil {
		return engine.DataHash{}, err
	}
	c := datafile.NewContents()
	c.History, c.Raise = &datafile.HistoryHash{}, raise
	if err := c.Read(file); err != nil {
		return engine.DataHash{}, fmt.Errorf("read what is loaded: %w", err)
	}
	i := engine.DataHash{Fingerprint: c.Facts.Fingerprint}
	// Without a key that lives, etcd hashes what a compaction is about to drop.
	if c.History.Current > 0 {
		i.Mark = client.Mark(c.Latest, c.Compacted, c.History.Sum())
	}
	return i, nil
}

// raised is by how much a load command raises the revision.
func raised(command []string) (int64, error) {
	at := slices.Index(command, raiseFlag)
	if at < 0 {
		return 0, nil
	}
	if at+1 == len(command) {
		return 0, fmt.Errorf("read the load command: %s has no value", raiseFlag)
	}
	n, err := strconv.ParseInt(command[at+1], 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("read the load command: %s %s is no number of revisions", raiseFlag, command[at+1])
	}
	return n, nil
}
