//go:build linux

package valkey

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/datadir"
)

// appendFiles returns how many bytes those append-only files of a copy hold that grow, one after the other, by their
// numbers. The server begins another one when it writes all data again, and removes those before it once that is done.
func appendFiles(data string) (sizes map[uint64]int64, last uint64) {
	sizes = map[uint64]int64{}
	entries, err := os.ReadDir(filepath.Dir(datadir.Manifest(data)))
	if err != nil {
		return sizes, 0
	}
	for _, e := range entries {
		name, named := strings.CutPrefix(e.Name(), datadir.AppendFile+".")
		name, grows := strings.CutSuffix(name, ".incr.aof")
		number, err := strconv.ParseUint(name, 10, 32)
		if !named || !grows || err != nil {
			continue
		}
		if info, err := e.Info(); err == nil {
			sizes[number], last = info.Size(), max(last, number)
		}
	}
	return sizes, last
}

// ending is where the append-only files end.
type ending struct {
	file uint64
	size int64
}

// appended returns where the append-only files of a copy end.
func appended(data string) ending {
	sizes, last := appendFiles(data)
	return ending{file: last, size: sizes[last]}
}

// note notes an offset that a copy holds, and a place before which its files don't hold more.
func note(id *datadir.Identity, offset uint64, at ending) {
	id.Seen, id.Growing, id.Appended = offset, at.file, at.size
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
func (c Config) grown(id datadir.Identity) (total uint64) {
	sizes, last := appendFiles(c.data())
	for number := id.Growing; number <= max(last, id.Growing); number++ {
		size, there := sizes[number]
		switch {
		case !there:
			total += c.volumeSize()
		case number == id.Growing:
			total += uint64(max(0, size-id.Appended))
		default:
			total += uint64(size) //nolint:gosec // it is not negative
		}
	}
	return total
}

// volumeSize is that of the volume, or a size that none has.
func (c Config) volumeSize() uint64 {
	var fs unix.Statfs_t
	if err := unix.Statfs(c.Directory, &fs); err != nil {
		return math.MaxUint32 << 8
	}
	return fs.Blocks * uint64(fs.Bsize) //nolint:gosec // the size of a block is positive
}
