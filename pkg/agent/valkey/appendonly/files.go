//go:build linux

// Package appendonly measures the append-only files of a copy of the data: how many bytes they hold, and how many more
// the server may have appended since somebody wrote down where they end.
package appendonly

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/datadir"
)

// Growing returns how many bytes those append-only files of a copy hold that grow, by their numbers. The server
// begins another one when it writes all data again, and removes those before it once that is done. If it fails, it goes
// on with the one that it began, or with the one before: an empty file is left then that nothing is written to.
func Growing(data string) (sizes map[uint64]int64, first, last uint64) {
	sizes = map[uint64]int64{}
	entries, err := os.ReadDir(filepath.Dir(datadir.Manifest(data)))
	if err != nil {
		return sizes, 0, 0
	}
	for _, e := range entries {
		name, named := strings.CutPrefix(e.Name(), datadir.AppendFile+".")
		name, grows := strings.CutSuffix(name, ".incr.aof")
		number, err := strconv.ParseUint(name, 10, 32)
		if !named || !grows || err != nil {
			continue
		}
		if info, err := e.Info(); err == nil {
			if len(sizes) == 0 {
				first = number
			}
			sizes[number], first, last = info.Size(), min(first, number), max(last, number)
		}
	}
	return sizes, first, last
}

// Ending is where the append-only files end: the first of those that grow, and how many bytes they hold together.
type Ending struct {
	First uint64
	Size  int64
}

// End returns where the append-only files of a copy end.
func End(data string) (at Ending) {
	sizes, first, _ := Growing(data)
	at.First = first
	for _, size := range sizes {
		at.Size += size
	}
	return at
}

// Note notes an offset that a copy holds, and a place before which its files don't hold more.
func Note(id *datadir.Identity, offset uint64, at Ending) {
	id.Seen, id.Growing, id.Appended = offset, at.First, at.Size
}

// Size returns how many bytes all append-only files of a copy hold.
func Size(data string) (total int64) {
	entries, err := os.ReadDir(filepath.Dir(datadir.Manifest(data)))
	if err != nil {
		return 0
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			total += info.Size()
		}
	}
	return total
}

// Grown returns how many bytes were appended to a copy since the last note, at most. Nobody knows how long a file was
// that was removed, but it fitted on the volume.
func Grown(data string, id datadir.Identity) uint64 {
	sizes, first, last := Growing(data)
	from := id.Growing
	if from == 0 { // it could not be read: all that was removed counts as one file
		from = max(first, 1) - 1
	}
	var total int64
	for number := from; number <= max(last, from); number++ {
		size, there := sizes[number]
		if !there {
			size = volumeSize(data)
		}
		total += size
	}
	return uint64(max(0, total-id.Appended))
}

// noVolume is a size that no volume has.
const noVolume = 1 << 50

// volumeSize is that of the volume with a copy.
func volumeSize(data string) int64 {
	var fs unix.Statfs_t
	if err := unix.Statfs(data, &fs); err != nil {
		return noVolume
	}
	return int64(fs.Blocks) * fs.Bsize //nolint:gosec // no volume is that large
}
