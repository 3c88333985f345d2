package agreed

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// Position writes how far the log of a member reaches: which cluster, which
// timeline, how many bytes.
func Position[T int | uint64](cluster string, timeline, bytes T) engine.Position {
	return engine.Position(fmt.Sprintf("%s/%d/%d", cluster, timeline, bytes))
}

type position struct {
	cluster         string
	timeline, bytes int64
}

func readPosition(p engine.Position) (position, bool) {
	parts := strings.Split(string(p), "/")
	if len(parts) != 3 {
		return position{}, false
	}
	timeline, err1 := strconv.ParseInt(parts[1], 10, 64)
	bytes, err2 := strconv.ParseInt(parts[2], 10, 64)
	return position{parts[0], timeline, bytes}, err1 == nil && err2 == nil
}

// both reads two positions that can be compared: of one cluster and one timeline.
func both(a, b engine.Position) (x, y position, ok bool) {
	x, okX := readPosition(a)
	y, okY := readPosition(b)
	return x, y, okX && okY && x.cluster == y.cluster && x.timeline == y.timeline
}

// Compare implements engine.Rules. A longer log of another timeline is not further.
func (Rules) Compare(a, b engine.Position) (int, bool) {
	x, y, ok := both(a, b)
	return cmp.Compare(x.bytes, y.bytes), ok
}

// Lag implements engine.Rules.
func (Rules) Lag(gap engine.Gap) (engine.Distance, bool) {
	leader, member, ok := both(gap.Leader, gap.Member)
	if !ok {
		return engine.Distance{}, false
	}
	return engine.Distance{Amount: max(0, leader.bytes-member.bytes), Unit: "bytes"}, true
}

// Readings implements engine.Rules.
func (Rules) Readings(p engine.Position) []engine.Reading {
	at, ok := readPosition(p)
	if !ok {
		return nil
	}
	return []engine.Reading{
		{Name: "timeline", Value: strconv.FormatInt(at.timeline, 10)},
		{Name: "bytes", Value: strconv.FormatInt(at.bytes, 10)},
	}
}

// CompareProofs implements engine.Rules.
func (Rules) CompareProofs(want, got engine.Proof) engine.Match {
	switch {
	case want == "" || got == "":
		return engine.MatchUnknown
	case want == got:
		return engine.MatchSame
	}
	return engine.MatchDifferent
}

// Split returns the timeline and the offset of a position; false for one of another kind of engine.
func Split(p engine.Position) (timeline, offset int64, ok bool) {
	at, ok := readPosition(p)
	return at.timeline, at.bytes, ok
}
