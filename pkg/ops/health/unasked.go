package health

import (
	"fmt"
)

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
		case a.s.VolumeMissing(m):
			a.problem("%s: its volume is gone, and its copy of the data with it", name)
		case p != nil:
			a.problem("%s: %s: %s", name, p.Kind, p.Message)
		case m.Pod.Ready && a.s.Ours(m):
			ready++
		default:
			a.problem("%s: its pod is not ready", name)
		}
	}
	return Verdict{Level: Unknown, Database: Unknown, Problems: a.problems, Next: a.mend,
		Headline: fmt.Sprintf("%d of %d pods are ready, and nobody asked the members", ready, len(names))}
}
