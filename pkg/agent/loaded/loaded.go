// Package loaded is what a loader of a backup leaves beside the data for the agent, which then takes that data for its
// own copy.
package loaded

import (
	"path/filepath"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/disk"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// Record is written last: data with a record is whole.
type Record struct {
	// Contents is what the loader saw while it compared every byte with the backup.
	Contents api.Contents `json:"contents"`
	// End is the position that the server has to reach before the data is that of the backup.
	End protocol.Position `json:"end"`
}

// name is the record's file in the directory that is renamed into place as a whole.
const name = "loaded.json"

// Write writes the record into a directory.
func Write(directory string, r Record) error { return disk.Replace(filepath.Join(directory, name), r) }

// Read returns the record of a directory, and false where none was loaded.
func Read(directory string) (r Record, found bool, err error) {
	found, err = disk.Read(filepath.Join(directory, name), &r)
	return r, found, err
}
