//go:build linux

package valkey

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/datadir"
)

// appendFiles returns how many bytes those append-only files of a copy hold that grow, by their numbers. The server
// begins another one when it writes all data again, and removes those before it once that is done. If it fails, it goes
// on with the one that it began, or with the one before: an empty file is left then that nothing is written to.
func appendFiles(data string) (sizes map[uint64]int64, first, last uint64) {
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

// ending is where the append-only files end: the first of those that grow, and how many bytes they hold together.
type ending struct {
	first uint64
	size  int64
}

// appended returns where the append-only files of a copy end.
func appended(data string) (at ending) {
	sizes, first, _ := appendFiles(data)
	at.first = first
	for _, size := range sizes {
		at.size += size
	}
	return at
}

// note notes an offset that a copy holds, and a place before which its files don't hold more.
func note(id *datadir.Identity, offset uint64, at ending) {
	id.Seen, id.Growing, id.Appended = offset, at.first, at.size
}

// appendedSize returns how many bytes all append-only files of a copy hold.
func appendedSize(data string) (total int64) {
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

// grown returns how many bytes were appended since the last note, at most. Nobody knows how long a file was that was
// removed, but it fitted on the volume.
func (c Config) grown(id datadir.Identity) uint64 {
	sizes, first, last := appendFiles(c.data())
	from := id.Growing
	if from == 0 { // it could not be read: all that was removed counts as one file
		from = max(first, 1) - 1
	}
	var total int64
	for number := from; number <= max(last, from); number++ {
		size, there := sizes[number]
		if !there {
			size = c.volumeSize()
		}
		total += size
	}
	return uint64(max(0, total-id.Appended))
}

// noVolume is a size that no volume has.
const noVolume = 1 << 50

// volumeSize is that of the volume.
func (c Config) volumeSize() int64 {
	var fs unix.Statfs_t
	if err := unix.Statfs(c.Directory, &fs); err != nil {
		return noVolume
	}
	return int64(fs.Blocks) * fs.Bsize //nolint:gosec // no volume is that large
}
