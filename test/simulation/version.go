package simulation

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
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
// members run a newer one, or lower it to that of a downgrade; members migrate
// their storage after it. While one of them is out of reach it stays.
func (w *world) agree(g *group) {
	w.migrate(g)
	lowest, highest := 0, 0
	for _, e := range g.members {
		s := w.serving(g, e)
		if s == nil {
			return
		}
		m := minor(s.pod.template.version)
		if lowest == 0 || m < lowest {
			lowest = m
		}
		highest = max(highest, m)
	}
	goal := max(g.minor, lowest)
	if g.downgrade != 0 {
		goal = g.downgrade
		w.callOff(g, highest)
	}
	switch {
	case g.minor == goal:
		g.settleAt = time.Time{}
	case g.settleAt.IsZero():
		g.settleAt = w.now.Add(w.between(300*time.Millisecond, 5*time.Second))
	case !w.now.Before(g.settleAt):
		g.minor, g.settleAt = goal, time.Time{}
		w.logf("group %s speaks 3.%d", g.clusterID, goal)
	}
}

// migrate lets members that write the version of their storage bring it to
// what the group speaks, each in its own time.
func (w *world) migrate(g *group) {
	for _, e := range g.members {
		s := w.serving(g, e)
		if s == nil || g.minor == 0 || minor(s.pod.template.version) < firstSchema {
			continue
		}
		if d := s.pod.process.data; d.schema != g.minor && (g.minor >= firstSchema || g.downgrade == g.minor) &&
			w.chance(0.3) {
			d.schema = g.minor
		}
	}
}

// callOff ends a downgrade that is done. A leader of 3.5 reads only what
// the group speaks, so it does so as soon as it leads.
func (w *world) callOff(g *group, highest int) {
	leader := w.leads(g)
	if g.minor != g.downgrade || leader == nil || (highest > g.downgrade &&
		minor(leader.pod.template.version) >= firstSchema) {
		g.endAt = time.Time{}
		return
	}
	switch {
	case g.endAt.IsZero():
		g.endAt = w.now.Add(w.between(0, 5*time.Second))
	case !w.now.Before(g.endAt):
		g.downgrade, g.endAt = 0, time.Time{}
		w.logf("group %s: the downgrade is called off", g.clusterID)
	}
}

// announce begins a downgrade, as the leader allows it.
func (w *world) announce(cluster, token string, to int) error {
	g, _, err := w.asked(cluster, token)
	switch {
	case err != nil:
		return err
	case g.downgrade != 0:
		return nil
	case to != g.minor-1:
		return fmt.Errorf("etcdserver: invalid downgrade target version: %w", engine.ErrNotReady)
	}
	g.downgrade = to
	return nil
}

// withdraw takes a downgrade back.
func (w *world) withdraw(cluster, token string) error {
	g, _, err := w.asked(cluster, token)
	if err == nil {
		g.downgrade = 0
	}
	return err
}

// underway is the downgrade that the leader tells of; unknown if none of those
// asked leads.
func (w *world) underway(names []string) (to string, unknown bool) {
	for _, name := range names {
		if s := w.find(name); w.runs(s) && s.pod.process.data.group != nil && w.leads(s.pod.process.data.group) == s {
			return spoken(s.pod.process.data.group.downgrade), false
		}
	}
	return "", true
}

// descending checks a restart on an older version: what the group speaks and
// the member has written must be what that version understands.
func (w *world) descending(a *actor, s *slot, target string) {
	if w.hasAgents() || a.step.Action != ops.ActionDowngrade || s.pod == nil || s.pod.process == nil ||
		s.pod.process.data.group == nil || w.now.Before(a.frozenUntil.Add(2*time.Second)) {
		return
	}
	if d := s.pod.process.data; d.schema > minor(target) || d.group.minor > minor(target) {
		w.violate("%s restarts %s on %s with storage of 3.%d in a cluster that speaks 3.%d", a.name, s.name,
			target, d.schema,
			d.group.minor)
	}
}
