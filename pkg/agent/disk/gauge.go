//go:build linux

package disk

import (
	"cmp"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// gaugeWait is how long a file system is waited for: it answers from memory, unless its disk hangs.
const gaugeWait = 100 * time.Millisecond

// Gauge tells how full the file system of a directory is. Several goroutines may use it.
type Gauge struct {
	Directory string

	// stat is what asks the kernel, but in tests.
	stat func(string, *unix.Statfs_t) error

	mu sync.Mutex
	// asking ends when the question that is under way has its answer; nil if there is none.
	asking      chan struct{}
	used, total int64
}

// Space returns how many bytes are used, and how many may be: without what the file system keeps for the superuser, so
// that both are the same once a server finds no space left. While a disk hangs they are those of before; a total of 0
// is not known.
func (g *Gauge) Space() (used, total int64) {
	g.mu.Lock()
	if g.asking == nil {
		g.asking = make(chan struct{})
		go g.ask(g.asking)
	}
	asking := g.asking
	g.mu.Unlock()
	select {
	case <-asking:
	case <-time.After(gaugeWait):
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.used, g.total
}

// ask keeps the answer. There is one question at a time: a disk that hangs must not gather goroutines.
func (g *Gauge) ask(asking chan struct{}) {
	stat := g.stat
	if stat == nil {
		stat = unix.Statfs
	}
	var of unix.Statfs_t
	err := stat(g.Directory, &of)
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil {
		// The counts are of fragments; where there are none, of blocks.
		block := cmp.Or(of.Frsize, of.Bsize)
		g.used = int64(of.Blocks-of.Bfree) * block //nolint:gosec // no volume is that large
		g.total = g.used + int64(of.Bavail)*block  //nolint:gosec // no volume is that large
	}
	g.asking = nil
	close(asking)
}
