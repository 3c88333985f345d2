package planner

import (
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// Onsets date the problems that come up during a run by when the run first
// saw them. What Kubernetes says of their beginning is a node's time, and its
// clock may be minutes from the API server's: a problem of a moment would appear
// like one that has lasted. Those that were there before the run keep the time
// that is told of them, for there is no better one. An event from before the
// run is no evidence: what it speaks of, a quota for example, may be lifted.
type Onsets struct {
	first   map[onset]time.Time
	started bool
	// since is when the run began, by the API server's clock.
	since time.Time
}

// onset names one kind of problem of one pod, or of the volume of a member.
type onset struct {
	member, pod string
	kind        observe.ProblemKind
}

// Date sets the times of all problems in a state.
func (g *Onsets) Date(s *ops.State) {
	if g.first == nil {
		g.first, g.since = map[onset]time.Time{}, s.Now.Truncate(time.Second)
	}
	for i := range s.Kube.Members {
		m := &s.Kube.Members[i]
		m.Pod.Problem = g.dated(onset{m.Name, m.Pod.UID, ""}, m.Pod.Problem, s.Now)
		m.Volume.Problem = g.dated(onset{m.Name, "", ""}, m.Volume.Problem, s.Now)
	}
	g.started = true
}

func (g *Onsets) dated(of onset, p *observe.Problem, now time.Time) *observe.Problem {
	if p == nil || !p.Seen.IsZero() && p.Seen.Before(g.since) {
		return nil
	}
	of.kind = p.Kind
	since, known := g.first[of]
	if !known {
		since = now
		if !g.started {
			since = p.Since
		}
		g.first[of] = since
	}
	dated := *p
	dated.Since = since
	return &dated
}
