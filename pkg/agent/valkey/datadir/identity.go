// Package datadir reads the files of one copy of the data of Valkey or Redis, as the driver keeps it.
package datadir

import (
	"path/filepath"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/disk"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// CopyFile names the file of an identity.
const CopyFile = "copy.json"

// Identity is the content of copy.json, beside the files of the server: both are renamed into place together.
type Identity struct {
	// System names the database, Volume this copy of it.
	System string `json:"system"`
	Volume string `json:"volume"`
	// CopiedIn is the generation of the primary that it was copied from, or 0.
	CopiedIn protocol.Generation `json:"copiedIn,omitempty"`
	// Lineage is what the copy followed. A branch is written before a byte of it is received or accepted.
	Lineage Lineage `json:"lineage,omitempty"`
	// End is where the data ends after a stop in order. While a server runs there is none.
	End *protocol.Position `json:"end,omitempty"`
	// Estimated says that End was not read from the server, but made of what the files tell.
	Estimated bool `json:"estimated,omitempty"`
	// Saved is what the server goes on from after a stop in order, if it wrote a file with all data then.
	Saved *Saved `json:"saved,omitempty"`
	// Seen is an offset that the copy holds: what follows it is from the last second or two of a run, or no data. Growing
	// is the number of the first append-only file that could grow then, Appended how many bytes it held with those after
	// it.
	Seen     uint64 `json:"seen"`
	Growing  uint64 `json:"growing,omitempty"`
	Appended int64  `json:"appended,omitempty"`
	// Primary says that the last run was promoted.
	Primary bool `json:"primary,omitempty"`
	// Source says that the data is that of a server outside of the group, whose functions hold no users of this cluster:
	// the agent keeps those until they are among the functions again.
	Source bool `json:"source,omitempty"`
	// Boot is that of the machine of the last run, Flushed says that each write was flushed before its acknowledgement.
	Boot    string `json:"boot,omitempty"`
	Flushed bool   `json:"flushed,omitempty"`
}

// Saved is where the replication of a server stood when it wrote all its data to a file: its replication ID and its own
// offset.
type Saved struct {
	ID     string `json:"id"`
	Offset int64  `json:"offset"`
}

// ReadIdentity reads copy.json. No file is no copy.
func ReadIdentity(data string) (id Identity, err error) {
	_, err = disk.Read(filepath.Join(data, CopyFile), &id)
	return id, err
}

// WriteIdentity replaces copy.json, whole or not at all.
func WriteIdentity(data string, id Identity) error {
	return disk.Replace(filepath.Join(data, CopyFile), id)
}
