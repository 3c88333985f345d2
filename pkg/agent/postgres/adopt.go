package postgres

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/loaded"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/datadir"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/volume"
)

// adopt takes the data that a loader made of a backup for a copy of its own. From there on it is one that has the end
// of its log still to be read: the server recovers it, and the group promotes it to a timeline of its own.
func (c Config) adopt() error {
	record, found, err := loaded.Read(c.data())
	if err != nil || !found {
		return err
	}
	if _, err := os.Stat(filepath.Join(c.data(), datadir.CopyFile)); err == nil {
		return nil
	}
	past := datadir.Lineage{Timeline: record.End.Timeline}
	if past.Timeline > 1 {
		path := filepath.Join(c.pgdata(), "pg_wal", datadir.HistoryName(past.Timeline))
		raw, err := os.ReadFile(path) //nolint:gosec // the path is ours
		if err == nil {
			past, err = datadir.ParseHistory(past.Timeline, string(raw))
		}
		if err != nil {
			return fmt.Errorf("take over the data of a backup: %w", err)
		}
	}
	return datadir.WriteIdentity(c.data(), datadir.Identity{Volume: volume.NewName(4), Lineage: past})
}
