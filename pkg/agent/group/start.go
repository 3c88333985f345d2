package group

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"path/filepath"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/disk"
)

// start identifies one start of an agent. The nonce tells two starts with one number apart: a volume that was rolled
// back counts again from an old number.
type start struct {
	Number uint64 `json:"number"`
	Nonce  uint64 `json:"nonce"`
}

// nextStart writes the next start to the directory before the agent speaks to anybody. It does so on a full disk, too.
func nextStart(directory string) (start, error) {
	var s start
	file, _, err := disk.OpenSlots(filepath.Join(directory, "start"), &s)
	if err != nil {
		return s, fmt.Errorf("find the number of the last start: %w", err)
	}
	s.Number++
	var nonce [8]byte
	if _, err := rand.Read(nonce[:]); err != nil {
		return s, err
	}
	s.Nonce = binary.BigEndian.Uint64(nonce[:])
	return s, file.Write(s)
}
