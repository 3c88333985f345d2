package datadir

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Fork is where a timeline ended and another one went on.
type Fork struct {
	Timeline uint64 `json:"timeline"`
	End      LSN    `json:"end"`
}

// Lineage is the timeline that a copy follows, and those before it, oldest first.
type Lineage struct {
	Timeline uint64 `json:"timeline"`
	Forks    []Fork `json:"forks,omitempty"`
}

// Filler is what a history file of a timeline holds that no server was ever on.
const Filler = "# no server was on this timeline\n"

// HistoryName is the name of the history file of a timeline.
func HistoryName(timeline uint64) string { return fmt.Sprintf("%08X.history", timeline) }

// ParseHistory reads the history file of a timeline. A server that recovers to a moment before the target timeline
// began names that one as the parent all the same, with those before it (writeTimeLineHistory of PostgreSQL). Where one
// is said to end before it began, the copy never was on it.
func ParseHistory(timeline uint64, content string) (Lineage, error) {
	l := Lineage{Timeline: timeline}
	for line := range strings.Lines(content) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) < 2 {
			return Lineage{}, fmt.Errorf("read the history of timeline %d: %q is no line of it", timeline, line)
		}
		parent, err := strconv.ParseUint(fields[0], 10, 32)
		end, err2 := ParseLSN(fields[1])
		if err != nil || err2 != nil || parent >= timeline {
			return Lineage{}, fmt.Errorf("read the history of timeline %d: %q is no line of it", timeline, line)
		}
		l.follow(Fork{Timeline: parent, End: end})
	}
	return l, nil
}

// follow adds what a history file says next.
func (l *Lineage) follow(f Fork) {
	if n := len(l.Forks); n > 0 && f.End < l.Forks[n-1].End {
		f.Timeline = l.At(f.End)
		l.Forks = slices.DeleteFunc(l.Forks, func(later Fork) bool { return later.End >= f.End })
	}
	l.Forks = append(l.Forks, f)
}

// At returns the timeline of the byte before a place.
func (l Lineage) At(place LSN) uint64 {
	for _, f := range l.Forks {
		if place <= f.End {
			return f.Timeline
		}
	}
	return l.Timeline
}

// Holds says whether a body of log that ends at a place of its own lineage is the beginning of this one: it needs no
// rewind to follow it.
func (l Lineage) Holds(own Lineage, end LSN) bool {
	mine := own.At(end)
	if mine == l.Timeline {
		return true
	}
	i := slices.IndexFunc(l.Forks, func(f Fork) bool { return f.Timeline == mine })
	return i >= 0 && end <= l.Forks[i].End
}
