// Package volume holds what every driver keeps on a member's volume beside the data of its engine.
package volume

import (
	"path/filepath"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/disk"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// Floor is the lowest generation whose primary a member may follow. It is on disk, so that a member that reported for a
// generation follows no earlier one after a crash.
type Floor struct {
	file    disk.Slots
	content floorFile
}

// floorFile is the content of the file.
type floorFile struct {
	Floor protocol.Generation `json:"floor"`
}

// OpenFloor reads the floor in the directory of a member; it is 0 where none was written.
func OpenFloor(directory string) (Floor, error) {
	var f Floor
	var err error
	f.file, _, err = disk.OpenSlots(filepath.Join(directory, "floor"), &f.content)
	return f, err
}

// Generation is the floor.
func (f *Floor) Generation() protocol.Generation { return f.content.Floor }

// Raise writes a higher floor to disk, and then counts on it. A lower one changes nothing.
func (f *Floor) Raise(g protocol.Generation) error {
	if g <= f.content.Floor {
		return nil
	}
	raised := floorFile{Floor: g}
	if err := f.file.Write(raised); err != nil {
		return err
	}
	f.content = raised
	return nil
}
