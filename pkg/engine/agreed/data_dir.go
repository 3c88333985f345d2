package agreed

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// DataEnd is where the data of a member that does not run ends.
type DataEnd struct {
	// System identifies the database.
	System string
	// Timeline and Offset are the end.
	Timeline, Offset uint64
	// AtLeast says that the data may reach further.
	AtLeast bool
	// Forks say where each timeline before the last one was left, oldest first.
	Forks []Fork
}

// Fork is where a history left a timeline.
type Fork struct{ Timeline, End uint64 }

// keptForks bounds what is written of a history: a report has room for a few kilobytes.
const keptForks = 100

// Encode writes it as the position of a DataDirInfo, such as "7/3/1f0+ 1:a0,2:1c8".
func (e DataEnd) Encode() engine.Position {
	more := ""
	if e.AtLeast {
		more = "+"
	}
	var forks []string
	for _, f := range e.Forks[max(0, len(e.Forks)-keptForks):] {
		forks = append(forks, fmt.Sprintf("%d:%x", f.Timeline, f.End))
	}
	return engine.Position(fmt.Sprintf("%s/%d/%x%s %s", e.System, e.Timeline, e.Offset, more, strings.Join(forks, ",")))
}

func parseDataEnd(p engine.Position) (e DataEnd, ok bool) {
	end, forks, ok := strings.Cut(string(p), " ")
	end, e.AtLeast = strings.CutSuffix(end, "+")
	parts := strings.Split(end, "/")
	if !ok || len(parts) != 3 {
		return e, false
	}
	var err1, err2 error
	e.System = parts[0]
	e.Timeline, err1 = strconv.ParseUint(parts[1], 10, 64)
	e.Offset, err2 = strconv.ParseUint(parts[2], 16, 64)
	if err := errors.Join(err1, err2); err != nil {
		return e, false
	}
	for text := range strings.SplitSeq(forks, ",") {
		var f Fork
		if _, err := fmt.Sscanf(text, "%d:%x", &f.Timeline, &f.End); err == nil {
			e.Forks = append(e.Forks, f)
		}
	}
	return e, true
}

// within says whether all of this data is known to be in the other's.
func (e DataEnd) within(o DataEnd) bool {
	switch {
	case e.System != o.System || e.AtLeast:
		return false
	case e.Timeline == o.Timeline:
		return e.Offset <= o.Offset
	}
	return slices.ContainsFunc(o.Forks, func(f Fork) bool { return f.Timeline == e.Timeline && e.Offset <= f.End })
}

// CompareDataDirs implements engine.DataRecoverer: data goes first that holds all of the other. A longer log, or one of
// a later timeline, does not if the other has writes that it lacks.
func (Rules) CompareDataDirs(a, b engine.Position) (int, bool) {
	x, okX := parseDataEnd(a)
	y, okY := parseDataEnd(b)
	if !okX || !okY {
		return 0, false
	}
	behind, ahead := x.within(y), y.within(x)
	switch {
	case behind && ahead:
		return 0, true
	case behind:
		return -1, true
	}
	return 1, ahead
}

// DataDirLag implements engine.DataRecoverer.
func (r Rules) DataDirLag(gap engine.Gap) string {
	first, okF := parseDataEnd(gap.Leader)
	other, okO := parseDataEnd(gap.Member)
	if !okF || !okO || first.System != other.System {
		return "how far they are apart is not known"
	}
	order, comparable := r.CompareDataDirs(gap.Leader, gap.Member)
	switch {
	case !comparable || order < 0:
		return "it may hold writes that the other does not"
	case first.Timeline == other.Timeline:
		return fmt.Sprintf("%d bytes of the log behind", first.Offset-other.Offset)
	}
	return fmt.Sprintf("it ends on timeline %d rather than %d, %s bytes of the log behind", other.Timeline, first.Timeline,
		cmp.Or(missing(first, other), "an unknown number of"))
}

func missing(first, other DataEnd) string {
	if first.Offset < other.Offset {
		return ""
	}
	return strconv.FormatUint(first.Offset-other.Offset, 10)
}

// SameDatabase implements engine.DataRecoverer. The data names the database; of which incarnation a volume is, its
// labels say.
func (Rules) SameDatabase(found, recorded string) bool {
	system, _, _ := strings.Cut(recorded, "@")
	return found == system
}

// RecoveryNotice implements engine.DataRecoverer.
func (Rules) RecoveryNotice() string { return "" }

// Agreed says whether a member's share of what the agents agreed on is there, beside its data.
func Agreed(dataDir string) bool {
	_, err := os.Stat(filepath.Join(filepath.Dir(dataDir), "group", "log.db"))
	return err == nil
}
