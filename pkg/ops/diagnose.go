package ops

import (
	"fmt"
	"slices"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// Loss says what kind of loss of quorum it is.
type Loss string

// The kinds. A transient loss ends when pods come back, a permanent one does not.
const (
	LossNone      Loss = ""
	LossTransient Loss = "transient"
	LossPermanent Loss = "permanent"
)

// Diagnosis is everything that was examined of a cluster. Verdict is its
// short form: both judge the same state.
type Diagnosis struct {
	// Level is that of Assess.
	Level Level `json:"level"`
	// Serves is false if clients can't rely on the cluster now.
	Serves bool `json:"serves"`
	// QuorumLoss is empty unless a formed cluster lost its quorum.
	QuorumLoss Loss `json:"quorumLoss,omitempty"`
	// Findings are in the order of examination: the whole, then its parts.
	Findings []Finding `json:"findings"`
}

// Diagnose examines a state from all sides. It is pure: it asks nobody but
// the engine, and that only for judgements. Nothing is concluded from silence
// alone: a member that does not answer is not a member that is lost.
func Diagnose(e engine.Engine, s State) Diagnosis {
	d := &diagnosis{e: e, s: s}
	d.Level = Assess(e, s).Level
	if s.Cluster == nil {
		d.add(Finding{Severity: Fail, Subject: "cluster", What: "there is no such cluster", Remedy: []string{"kubectl dbop list -A"}})
		return d.Diagnosis
	}
	d.name = s.Cluster.Name
	d.operation()
	if s.Cluster.Spec.Stopped && s.Operation == nil {
		d.stopped()
		d.backups()
		return d.Diagnosis
	}
	d.Serves = d.serves()
	d.identity()
	d.formation()
	d.certificates()
	d.quorum()
	d.leader()
	d.roster()
	for _, name := range d.members() {
		d.member(name)
	}
	d.alarms()
	d.space()
	d.versions()
	d.objects()
	d.differences()
	d.budget()
	d.spread()
	d.authentication()
	d.backups()
	return d.Diagnosis
}

// diagnosis gathers one Diagnosis.
type diagnosis struct {
	Diagnosis

	e    engine.Engine
	s    State
	name string
}

func (d *diagnosis) add(f Finding) { d.Findings = append(d.Findings, f) }

// serves is the judgement of Assess, said once for both.
func (d *diagnosis) serves() bool {
	a := assessment{e: d.e, s: d.s}
	a.identity()
	return !a.split && d.s.formed() && a.serves()
}

// members are all that should be one and all that are left of one, each once:
// the database's own list first, then what exists of this epoch.
func (d *diagnosis) members() []string {
	var names []string
	note := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, r := range d.s.View.Roster {
		if v1alpha1.MemberNumber(d.s.Cluster.Name, r.Name) > 0 {
			note(r.Name)
		}
	}
	for _, m := range d.s.Kube.Members {
		if d.s.ours(m) {
			note(m.Name)
		}
	}
	if len(names) == 0 {
		return d.s.formation().Members
	}
	return names
}

// quiet is how long an operation may journal nothing before somebody should look.
const quiet = 10 * time.Minute

// operation tells who is at work, and when nobody seems to be.
func (d *diagnosis) operation() {
	const subject = "operation"
	if d.s.Cluster.Spec.Paused {
		d.add(Finding{Severity: Warn, Subject: subject, What: "the cluster is paused: nothing acts on it", Evidence: []string{pausedBy(d.s.Cluster) + " asked for it"}})
	}
	op := d.s.Operation
	if op == nil {
		d.add(Finding{Severity: OK, Subject: subject, What: "none is in flight"})
		return
	}
	f := Finding{Severity: OK, Subject: subject, What: fmt.Sprintf("%s is %s", op.Spec.Verb, op.Status.Phase), Evidence: d.journal(op)}
	last := op.Status.StartedAt.Time
	if n := len(op.Status.Journal); n > 0 {
		last = op.Status.Journal[n-1].StartedAt.Time
	}
	silent := d.s.Now.Sub(last)
	if op.Status.Phase != v1alpha1.PhasePaused && silent > quiet {
		f.What += fmt.Sprintf(", but did nothing for %s", silent.Round(time.Minute))
	}
	if d.s.Stopped() {
		f.What = string(op.Spec.Verb) + " stopped: the process that performed it is gone"
	}
	if h := d.s.Holding; h != nil && h.Holder != "" {
		f.Evidence = append(f.Evidence, "held by "+h.Holder+" since "+moment(h.Since))
	}
	if op.Status.Phase == v1alpha1.PhasePaused || silent > quiet || d.s.Stopped() {
		f.Severity, f.Remedy = Warn, []string{"kubectl dbop resume " + d.name}
		if way := wayBack(op, d.s.Cluster); way != "" {
			f.Remedy = append(f.Remedy, way)
		}
	}
	d.add(f)
}

// journal is what the record says of its last step.
func (d *diagnosis) journal(op *v1alpha1.Operation) []string {
	out := []string{op.Name}
	if n := len(op.Status.Journal); n > 0 {
		last := op.Status.Journal[n-1]
		out = append(out, "last step: "+last.Title)
		if last.Error != "" {
			out = append(out, last.Error)
		}
	}
	if op.Status.Message != "" {
		out = append(out, op.Status.Message)
	}
	return out
}

// stopped looks at the one thing that a stopped cluster lives by.
func (d *diagnosis) stopped() {
	d.add(Finding{Severity: Warn, Subject: "cluster", What: "it is stopped as asked for", Remedy: []string{"kubectl dbop start " + d.name}})
	for _, name := range d.members() {
		f := Finding{Severity: OK, Subject: "member " + name, What: "its volume is kept"}
		if !d.hasVolume(name) {
			f = d.volumeGone(name)
		}
		d.add(f)
	}
}
