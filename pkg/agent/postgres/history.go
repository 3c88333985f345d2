package postgres

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// fork is where a timeline ended and another one went on.
type fork struct {
	Timeline uint64 `json:"timeline"`
	End      lsn    `json:"end"`
}

// lineage is the timeline that a copy follows, and those before it, oldest first.
type lineage struct {
	Timeline uint64 `json:"timeline"`
	Forks    []fork `json:"forks,omitempty"`
}

// filler is what a history file of a timeline holds that no server was ever on.
const filler = "# no server was on this timeline\n"

func historyName(timeline uint64) string { return fmt.Sprintf("%08X.history", timeline) }

// parseHistory reads the history file of a timeline.
func parseHistory(timeline uint64, content string) (lineage, error) {
	l := lineage{Timeline: timeline}
	for line := range strings.Lines(content) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) < 2 {
			return lineage{}, fmt.Errorf("read the history of timeline %d: %q is no line of it", timeline, line)
		}
		parent, err := strconv.ParseUint(fields[0], 10, 32)
		end, err2 := parseLSN(fields[1])
		if err != nil || err2 != nil || parent >= timeline {
			return lineage{}, fmt.Errorf("read the history of timeline %d: %q is no line of it", timeline, line)
		}
		l.Forks = append(l.Forks, fork{Timeline: parent, End: end})
	}
	return l, nil
}

// at returns the timeline of the byte before a place.
func (l lineage) at(place lsn) uint64 {
	for _, f := range l.Forks {
		if place <= f.End {
			return f.Timeline
		}
	}
	return l.Timeline
}

// holds says whether a body of log that ends at a place of its own lineage is the beginning of this one: it needs no
// rewind to follow it.
func (l lineage) holds(own lineage, end lsn) bool {
	mine := own.at(end)
	if mine == l.Timeline {
		return true
	}
	i := slices.IndexFunc(l.Forks, func(f fork) bool { return f.Timeline == mine })
	return i >= 0 && end <= l.Forks[i].End
}
