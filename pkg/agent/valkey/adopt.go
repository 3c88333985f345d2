//go:build linux

package valkey

import (
	"path/filepath"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/loaded"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/datadir"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/volume"
)

// adopt takes the data that a loader made of a backup for a copy of its own: the first one of a database.
func (c Config) adopt() error {
	record, found, err := loaded.Read(c.data())
	if err != nil || !found || exists(filepath.Join(c.data(), datadir.CopyFile)) {
		return err
	}
	return datadir.WriteIdentity(c.data(),
		datadir.Identity{System: volume.NewName(8), Volume: volume.NewName(4), End: &record.End})
}
