package simulation

import (
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
)

// slot is all that bears one member's name. It stays when everything in it is gone.
type slot struct {
	name, cluster string
	volume        *volume
	workload      *memberWorkload
	pod           *pod
	// podDue is when the workload's controller makes the next pod.
	podDue time.Time
	// cutUntil: nobody reaches the member, and it reaches nobody (a frozen
	// process, a cut node). aloneUntil: only its peers don't.
	cutUntil, aloneUntil time.Time
	// lagUntil: it does not stream from the primary.
	lagUntil time.Time
}

type volume struct {
	// size is what was asked for, capacity what it has; it grows at grownAt.
	size, capacity resource.Quantity
	grownAt        time.Time
	token          string
	boundAt        time.Time
	deleting       bool
	data           *data
}

type memberWorkload struct {
	token    string
	version  string
	settings string
	// unfit says why a process with these settings does not start, "" if it does.
	unfit     string
	bootstrap bool
	witness   bool
	peers     []string
	// limit is what it is told of how many may be joining side by side.
	limit    int
	deleting bool
	goneAt   time.Time
	// seenAt is when its controller has seen the present template.
	seenAt time.Time
}

type pod struct {
	uid       int
	template  memberWorkload
	created   time.Time
	startAt   time.Time
	deleting  bool
	stopAt    time.Time
	goneAt    time.Time
	problem   *observe.Problem
	restarts  int32
	process   *process
	readySoon time.Time
	files     papers
}

// process is a running database.
type process struct {
	data *data
	// since is when its peers began to reach it without a break; zero while they don't.
	since time.Time
	// began is when it was started. One that is hung answers nobody until it ends.
	began time.Time
	hung  bool
	// accepts are the authorities whose certificates it takes, as its files said when it began.
	accepts []int
	// claims: it was the primary, meets nobody, and does not know that another
	// one was appointed; until rivalUntil it goes on to serve.
	claims     bool
	rivalUntil time.Time
}

// slot returns the slot of a member, made if need be.
func (w *world) slot(cluster, name string) *slot {
	for _, s := range w.slots {
		if s.name == name {
			return s
		}
	}
	s := &slot{name: name, cluster: cluster}
	w.slots = append(w.slots, s)
	return s
}

// find returns the slot of a member, or nil.
func (w *world) find(name string) *slot {
	for _, s := range w.slots {
		if s.name == name {
			return s
		}
	}
	return nil
}

// runs reports whether the member's process can be asked.
func (w *world) runs(s *slot) bool {
	return s != nil && s.pod != nil && s.pod.process != nil && !s.pod.process.hung && !w.now.Before(s.cutUntil)
}

// meets reports whether the member's peers reach it.
func (w *world) meets(s *slot) bool { return w.runs(s) && !w.now.Before(s.aloneUntil) }

// reconcile moves a member's Kubernetes objects.
func (w *world) reconcile(s *slot) {
	if p := s.pod; p != nil && p.deleting {
		if !w.now.Before(p.stopAt) {
			p.process = nil
		}
		if !w.now.Before(p.goneAt) {
			s.pod = nil
		}
	}
	if s.workload != nil && s.workload.deleting && !w.now.Before(s.workload.goneAt) {
		s.workload = nil
		if s.pod != nil {
			w.deletePod(s)
		}
	}
	if s.volume != nil && s.volume.deleting && s.pod == nil {
		w.logf("volume %s is gone", s.name)
		s.volume = nil
	}
	if v := s.volume; v != nil && !w.now.Before(v.grownAt) {
		v.capacity = v.size
	}
	w.makePod(s)
	w.mount(s)
	if p := s.pod; p != nil && !p.deleting && p.process == nil && !w.now.Before(p.startAt) {
		w.boot(s)
	}
	if p := s.pod; p != nil && p.process != nil {
		switch {
		case !w.meets(s):
			p.process.since = time.Time{}
		case p.process.since.IsZero():
			p.process.since = w.now
		}
	}
}

func (w *world) makePod(s *slot) {
	if s.workload == nil || s.workload.deleting || s.pod != nil {
		s.podDue = time.Time{}
		return
	}
	if s.podDue.IsZero() {
		s.podDue = w.now.Add(w.between(50*time.Millisecond, 2*time.Second))
		return
	}
	if w.now.Before(s.podDue) {
		return
	}
	s.podDue = time.Time{}
	s.pod = &pod{uid: w.id(), template: *s.workload, created: w.now,
		startAt: w.now.Add(w.between(300*time.Millisecond, 6*time.Second))}
}

// deletePod begins the end of a pod.
func (w *world) deletePod(s *slot) {
	if s.pod.deleting {
		return
	}
	s.pod.deleting = true
	s.pod.stopAt = w.now.Add(w.between(0, 600*time.Millisecond))
	s.pod.goneAt = s.pod.stopAt.Add(w.between(0, 2*time.Second))
	if w.chance(0.05) {
		s.pod.goneAt = s.pod.stopAt.Add(w.between(2*time.Second, 30*time.Second))
	}
}

// deleteWorkload begins the end of a workload and what it made.
func (w *world) deleteWorkload(s *slot) {
	if s.workload == nil || s.workload.deleting {
		return
	}
	s.workload.deleting = true
	s.workload.goneAt = w.now.Add(w.between(0, 500*time.Millisecond))
}

// trouble notes a pod's problem, keeping since when it is so.
func (p *pod) trouble(kind observe.ProblemKind, message string, now time.Time) {
	if p.problem != nil && p.problem.Kind == kind && p.problem.Message == message {
		return
	}
	since := now
	if p.problem != nil && p.problem.Kind == kind {
		since = p.problem.Since
	}
	p.problem = &observe.Problem{Kind: kind, Message: message, Since: since}
}
