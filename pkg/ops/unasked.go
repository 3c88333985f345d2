package ops

import (
	"errors"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// Unknown is the level of a cluster whose members could not be asked.
const Unknown Level = "unknown"

// LookAsAllowed has a world observe what may be read, also where members may
// not be asked: State.Unasked says why then.
func LookAsAllowed(w World) {
	LookAtAll(w)
	if l, ok := w.(*Live); ok {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.allowed = true
	}
}

// unasked judges a cluster whose members could not be asked by what Kubernetes
// says of it.
func (a *assessment) unasked() Verdict {
	a.problem("members were not asked: %s", a.s.Unasked)
	for _, kinds := range a.s.Kube.Unexamined {
		a.problem("%s were not examined: there is no right to read them", kinds)
	}
	a.differences()
	ready, names := 0, a.names()
	for _, name := range names {
		m := a.s.Kube.Member(name)
		switch p := firstProblem(m.Pod.Problem, m.Volume.Problem); {
		case a.s.bereft(m):
			a.problem("%s: its volume is gone, and its copy of the data with it", name)
		case p != nil:
			a.problem("%s: %s: %s", name, p.Kind, p.Message)
		case m.Pod.Ready && a.s.ours(m):
			ready++
		default:
			a.problem("%s: its pod is not ready", name)
		}
	}
	return Verdict{Level: Unknown, Database: Unknown, Problems: a.problems, Next: a.mend,
		Headline: fmt.Sprintf("%d of %d pods are ready, and nobody asked the members", ready, len(names))}
}

// withoutRight notes why members were not asked, where that is for want of a
// right and the world observes without it.
func (l *Live) withoutRight(s *State, err error) error {
	f, _ := errors.AsType[*kube.ForbiddenError](err)
	if err == nil {
		f = l.denied.Load()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if f == nil || !l.allowed {
		return err
	}
	s.View, s.Unasked = engine.View{}, f.Error()
	return nil
}
