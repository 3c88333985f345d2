package datadir

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/disk"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// CopyFile names the file of an identity.
const CopyFile = "copy.json"

// Identity is the content of copy.json, beside the data directory: both are renamed into place together.
type Identity struct {
	// Volume names this copy of the data.
	Volume string `json:"volume"`
	// CopiedIn is the generation of the primary that it was copied from, or 0.
	CopiedIn protocol.Generation `json:"copiedIn,omitempty"`
	// Lineage is what the copy followed last. It is written before a byte of a timeline is received.
	Lineage Lineage `json:"Lineage"`
	// Promoting is the timeline of a promotion that was started. If its history file exists, the copy is on it.
	Promoting uint64 `json:"promoting,omitempty"`
	// Rewinding is on disk while a rewind is at work: the data is neither the old nor the new one.
	Rewinding bool `json:"rewinding,omitempty"`
}

// ReadIdentity reads copy.json and finishes a promotion that a crash interrupted. No file is no copy.
func ReadIdentity(data string) (Identity, error) {
	var id Identity
	if there, err := disk.Read(filepath.Join(data, CopyFile), &id); !there || err != nil {
		return Identity{}, err
	}
	if id.Promoting == 0 {
		return id, nil
	}
	raw, err := os.ReadFile(filepath.Join(data, "pgdata", "pg_wal", HistoryName(id.Promoting))) //nolint:gosec // ours
	if err != nil || strings.HasPrefix(string(raw), Filler) {
		return id, nil //nolint:nilerr // it did not come that far
	}
	id.Lineage, err = ParseHistory(id.Promoting, string(raw))
	return id, err
}

// WriteIdentity replaces copy.json, whole or not at all.
func WriteIdentity(data string, id Identity) error {
	return disk.Replace(filepath.Join(data, CopyFile), id)
}
