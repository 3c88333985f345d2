package planner

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// Interrupted is the command that asks again for what this request puts an end
// to; "" if that was nothing, or was not wanted any more.
func (p *Prepared) Interrupted() string {
	if old := p.Supersedes; old != nil && Verbs().ReplacesIn(p.Request.Operation, old) &&
		old.Status.Phase != v1alpha1.PhaseCancelling {
		return old.Spec.Command
	}
	return ""
}

// Prepared is a request that was observed and judged; nothing was written.
type Prepared struct {
	Request Request
	Plan    ops.Plan
	State   ops.State
	// Continues is the record in flight that this request continues; nil for a new one.
	Continues *v1alpha1.Operation
	// Supersedes is the record that this request ends.
	Supersedes *v1alpha1.Operation
	// Backup is the one in flight beside this request; nil if there is none, or if the request is about it.
	Backup *v1alpha1.Operation
	// Stops: Backup can't go on, and ends first.
	Stops bool
	// Corrects: the cluster has yet to form, and was requested in another way before, see Correct.
	Corrects bool
}

// Record is the record that the request will be written down as. A deletion
// that supersedes a deletion takes over the last backup if it was made: once
// members are stopped there is none to be had.
func (p *Prepared) Record(namespace string) *v1alpha1.Operation {
	op := &v1alpha1.Operation{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}, Spec: p.Request.Operation,
		Status: v1alpha1.OperationStatus{Phase: v1alpha1.PhaseRunning, StartedAt: ops.Stamp(p.State.Now)}}
	if old := p.Supersedes; old != nil && old.Spec.Verb == v1alpha1.VerbDelete && op.Spec.Verb == v1alpha1.VerbDelete &&
		old.Status.Facts[v1alpha1.FactBackup] != "" {
		op.Spec.Repository, op.Spec.Backup = old.Spec.Repository, old.Spec.Backup
		op.Status.Facts = maps.Clone(old.Status.Facts)
	}
	return op
}

// Meet judges what is in flight: the same request continues it, a deletion supersedes it, and so does any request if it
// has changed nothing yet; anything else has to wait. It returns what the request has to wait for, nil for nothing.
// Whether a backup goes on beside a request, only its plan shows. A backup begins beside nothing, and goes on beside
// whatever began since.
func (p *Prepared) Meet(f ops.Flight) *v1alpha1.Operation {
	o := p.Request.Operation
	if !OperationOf(o.Verb).Manners().Alongside {
		p.Backup = f.Backup
		return p.meet(f.Ordinary)
	}
	switch {
	case f.Backup == nil:
		return p.meet(f.Ordinary)
	case f.Ordinary == nil, Verbs().Continues(o, f.Backup):
		return p.meet(f.Backup)
	}
	return f.Backup
}

// meet judges one record.
func (p *Prepared) meet(active *v1alpha1.Operation) *v1alpha1.Operation {
	switch o := p.Request.Operation; {
	case active == nil:
	case Verbs().Continues(o, active):
		p.Continues = active
	case Verbs().Supersedes(o, active):
		p.Supersedes = active
	default:
		return active
	}
	return nil
}

// Ended are the records that the request ends before its first step.
func (p *Prepared) Ended() []*v1alpha1.Operation {
	var out []*v1alpha1.Operation
	if p.Supersedes != nil {
		out = append(out, p.Supersedes)
	}
	if p.Backup != nil && p.Stops {
		out = append(out, p.Backup)
	}
	return out
}
