package postgres

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/disk"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

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

// floorFile is the content of floor.json.
type floorFile struct {
	Floor protocol.Generation `json:"floor"`
}

func newVolume() string {
	var raw [4]byte
	_, _ = rand.Read(raw[:]) // it never fails
	return hex.EncodeToString(raw[:])
}

// readIdentity reads copy.json and finishes a promotion that a crash interrupted. No file is no copy.
func readIdentity(data string) (identity, error) {
	var id identity
	if there, err := disk.Read(filepath.Join(data, "copy.json"), &id); !there || err != nil {
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
	return disk.Replace(filepath.Join(data, "copy.json"), id)
}

// copyName is the name under which a copy streams: a copy that was made again has another one.
func copyName(s protocol.Standby) string { return string(s.Member) + "." + s.Volume }

func parseCopyName(name string) (protocol.Standby, bool) {
	i := strings.LastIndexByte(name, '.')
	if i <= 0 {
		return protocol.Standby{}, false
	}
	return protocol.Standby{Member: protocol.MemberID(name[:i]), Volume: name[i+1:]}, true
}
