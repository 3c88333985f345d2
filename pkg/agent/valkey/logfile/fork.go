package logfile

import (
	"fmt"
	"strconv"
	"strings"
)

// Forks is the timeline under which an archive files forks.
const Forks = "fork"

// root is the history before the first one.
const root = "none"

// Fork says where a history begins. Offsets of the cluster are those of a history and its base.
type Fork struct {
	// Timeline numbers the histories of a cluster.
	Timeline uint64
	History  string
	Base     int64
	// Parent is the history that goes on here; "" if none does, or if nobody knows at which of its places.
	Parent string
	// Begin is the offset of the cluster.
	Begin uint64
}

// Own is an offset of the cluster as a place of the history.
func (f Fork) Own(offset uint64) uint64 { return uint64(int64(offset) - f.Base) } //nolint:gosec // it is far shorter

// Name names the file that says it.
func (f Fork) Name() string {
	return fmt.Sprintf("%016x-%s-%d.%s", f.Timeline, f.History, f.Base, Forks)
}

// Start and End are what an archive files beside the name.
func (f Fork) Start() string {
	if f.Parent == "" {
		return root
	}
	return f.Parent
}

// End is the offset at which the history begins.
func (f Fork) End() string { return strconv.FormatUint(f.Begin, 10) }

// Body is the content of the file: what its name and its ends say.
func (f Fork) Body() []byte { return []byte(f.Name() + " " + f.Start() + " " + f.End() + "\n") }

// IsFork says whether a name is that of a fork.
func IsFork(name string) bool { return strings.HasSuffix(name, "."+Forks) }

// ParseFork reads what an archive has of a fork.
func ParseFork(name, start, end string) (f Fork, ok bool) {
	text, found := strings.CutSuffix(name, "."+Forks)
	parts := strings.SplitN(text, "-", 3)
	if !found || len(parts) != 3 || !isHistory(parts[1]) || start != root && !isHistory(start) {
		return Fork{}, false
	}
	var errs [3]error
	f.History = parts[1]
	f.Timeline, errs[0] = strconv.ParseUint(parts[0], 16, 64)
	f.Base, errs[1] = strconv.ParseInt(parts[2], 10, 64)
	f.Begin, errs[2] = strconv.ParseUint(end, 10, 63)
	if start != root {
		f.Parent = start
	}
	return f, errs == [3]error{}
}
