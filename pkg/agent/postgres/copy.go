package postgres

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/disk"
)

// copyFile names the file of an identity.
const copyFile = "copy.json"

// identity is the content of copy.json, beside the data directory: both are renamed into place together.
type identity struct {
	// Volume names this copy of the data.
	Volume string `json:"volume"`
	// Lineage is what the copy followed last. It is written before a byte of a timeline is received.
	Lineage lineage `json:"lineage"`
	// Promoting is the timeline of a promotion that was started. If its history file exists, the copy is on it.
	Promoting uint64 `json:"promoting,omitempty"`
	// Rewinding is on disk while a rewind is at work: the data is neither the old nor the new one.
	Rewinding bool `json:"rewinding,omitempty"`
}

// readIdentity reads copy.json and finishes a promotion that a crash interrupted. No file is no copy.
func readIdentity(data string) (identity, error) {
	var id identity
	if there, err := disk.Read(filepath.Join(data, copyFile), &id); !there || err != nil {
		return identity{}, err
	}
	if id.Promoting == 0 {
		return id, nil
	}
	raw, err := os.ReadFile(filepath.Join(data, "pgdata", "pg_wal", historyName(id.Promoting))) //nolint:gosec // ours
	if err != nil || strings.HasPrefix(string(raw), filler) {
		return id, nil //nolint:nilerr // it did not come that far
	}
	id.Lineage, err = parseHistory(id.Promoting, string(raw))
	return id, err
}

func writeIdentity(data string, id identity) error {
	return disk.Replace(filepath.Join(data, copyFile), id)
}
