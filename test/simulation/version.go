package simulation

import (
	"strconv"
	"strings"
	"time"
)

// minor is the second number of a version.
func minor(version string) int {
	parts := strings.Split(version, ".")
	n, _ := strconv.Atoi(parts[min(1, len(parts)-1)])
	return n
}

// spoken writes a minor the way members report it.
func spoken(minor int) string {
	if minor == 0 {
		return ""
	}
	return "3." + strconv.Itoa(minor) + ".0"
}

// firstSchema is the first minor that writes the version of its storage.
const firstSchema = 6

// agree lets the leader raise the version that the group speaks once all
// members run a newer one, and members migrate their storage after it.
func (w *World) agree(g *group) {
	lowest := 0
	for _, e := range g.members {
		s := w.serving(g, e)
		if s == nil {
			return
		}
		if m := minor(s.pod.template.version); lowest == 0 || m < lowest {
			lowest = m
		}
	}
	if g.minor == lowest {
		g.settleAt = time.Time{}
		for _, e := range g.members {
			if d := w.serving(g, e).pod.process.data; lowest >= firstSchema && d.schema < lowest && w.chance(0.3) {
				d.schema = lowest
			}
		}
		return
	}
	if lowest < g.minor {
		return
	}
	switch {
	case g.settleAt.IsZero():
		g.settleAt = w.now.Add(w.between(300*time.Millisecond, 5*time.Second))
	case !w.now.Before(g.settleAt):
		g.minor, g.settleAt = lowest, time.Time{}
	}
}
