package health

import (
	"fmt"
	"slices"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
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
	Findings []ops.Finding `json:"findings"`
}

// Diagnose examines a state from all sides. It is pure: it asks nobody but
// the engine, and that only for judgements. Nothing is concluded from silence
// alone: a member that does not answer is not a member that is lost.
func Diagnose(e engine.Engine, s ops.State, verbs ops.Verbs) Diagnosis {
	d := &Examination{e: e, S: s, verbs: verbs}
	d.Level = Assess(e, s, verbs).Level
	if s.Cluster == nil {
		d.add(ops.Finding{Severity: ops.Fail, Subject: "cluster", What: "there is no such cluster",
			Remedy: []string{"kubectl dbop list -A"}})
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
	d.bootstrap()
	d.certificates()
	d.quorum()
	d.leader()
	d.memberList()
	for _, name := range d.members() {
		d.member(name)
	}
	d.alarms()
	d.space()
	d.warnings()
	d.versions()
	d.objects()
	d.differences()
	d.budget()
	d.spread()
	d.authentication()
	d.backups()
	return d.Diagnosis
}

// Examination gathers one Diagnosis.
type Examination struct {
	Diagnosis

	e    engine.Engine
	S    ops.State
	name string
	// verbs say what may be done with the operation in flight.
	verbs ops.Verbs
}

func (d *Examination) add(f ops.Finding) { d.Findings = append(d.Findings, f) }

// serves is the judgement of Assess, said once for both.
func (d *Examination) serves() bool {
	a := assessment{e: d.e, s: d.S}
	a.identity()
	return !a.split && d.S.Formed() && a.serves()
}

// members are all that should be one and all that are left of one, each once:
// the database's own list first, then what exists of this incarnation.
func (d *Examination) members() []string {
	var names []string
	note := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, r := range d.S.View.MemberList {
		if v1alpha1.MemberNumber(d.S.Cluster.Name, r.Name) > 0 {
			note(r.Name)
		}
	}
	for _, m := range d.S.Kube.Members {
		if d.S.Ours(m) {
			note(m.Name)
		}
	}
	if len(names) == 0 {
		return d.S.Bootstrap().Members
	}
	return names
}

// quiet is how long an operation may journal nothing before somebody should observe.
const quiet = 10 * time.Minute

// operation tells who is at work, and when nobody seems to be.
func (d *Examination) operation() {
	const subject = "operation"
	if d.S.Cluster.Spec.Paused {
		d.add(ops.Finding{Severity: ops.Warn, Subject: subject, What: "the cluster is paused: nothing acts on it",
			Evidence: []string{PausedBy(d.S.Cluster) + " asked for it"}})
	}
	op := d.S.First()
	if op == nil {
		d.add(ops.Finding{Severity: ops.OK, Subject: subject, What: "none is in flight"})
		return
	}
	f := ops.Finding{Severity: ops.OK, Subject: subject, What: fmt.Sprintf("%s is %s", op.Spec.Verb, op.Status.Phase),
		Evidence: d.journal(op)}
	last := op.Status.StartedAt.Time
	if n := len(op.Status.Journal); n > 0 {
		last = op.Status.Journal[n-1].StartedAt.Time
	}
	silent := d.S.Now.Sub(last)
	if op.Status.Phase != v1alpha1.PhasePaused && silent > quiet {
		f.What += fmt.Sprintf(", but did nothing for %s", silent.Round(time.Minute))
	}
	if d.S.Stopped() {
		f.What = string(op.Spec.Verb) + " stopped: the process that performed it is gone"
	}
	if h := d.S.Holding; h != nil && h.Holder != "" {
		f.Evidence = append(f.Evidence, "held by "+h.Holder+" since "+ops.Moment(h.Since))
	}
	if op.Status.Phase == v1alpha1.PhasePaused || silent > quiet || d.S.Stopped() {
		f.Severity, f.Remedy = ops.Warn, []string{"kubectl dbop resume " + d.name}
		if way := d.verbs.WayBack(op, d.S.Cluster); way != "" {
			f.Remedy = append(f.Remedy, way)
		}
	}
	d.add(f)
}

// journal is what the record says of its last step.
func (d *Examination) journal(op *v1alpha1.Operation) []string {
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

// stopped reads the one thing that a stopped cluster lives by.
func (d *Examination) stopped() {
	d.add(ops.Finding{Severity: ops.Warn, Subject: "cluster", What: "it is stopped as asked for",
		Remedy: []string{"kubectl dbop start " + d.name}})
	for _, name := range d.members() {
		f := ops.Finding{Severity: ops.OK, Subject: "member " + name, What: "its volume is kept"}
		if !d.hasVolume(name) {
			f = d.volumeGone(name)
		}
		d.add(f)
	}
}

// PausedBy names the person, as far as they are known: an edit of a custom
// resource has no name on it.
func PausedBy(c *v1alpha1.DatabaseCluster) string {
	p := c.Status.Pause
	if p == nil {
		return "a person"
	}
	return fmt.Sprintf("%s@%s, at %s,", ops.OrUnknown(p.By), ops.OrUnknown(p.From), ops.Moment(p.At.Time))
}
