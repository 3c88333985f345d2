package ops

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// DesiredBy is who asks for what follows from a custom resource.
const DesiredBy = "operator: custom resource"

// Charge is everything that decides what an operator does next for one name:
// the custom resource, the record, and what is in flight.
type Charge struct {
	// Custom is the custom resource; nil if there is none.
	Custom *v1alpha1.DatabaseCluster
	// Record is what the tool wrote down of the cluster; nil if there is none.
	Record *v1alpha1.DatabaseCluster
	// Active is the operation in flight; nil if there is none.
	Active *v1alpha1.Operation
	// Backups are the objects that ask for a backup of this cluster and got no
	// answer yet, oldest first.
	Backups []v1alpha1.DatabaseBackup
	// Orphan: the object that asked for the operation in flight is gone.
	Orphan bool
	// Now tells how long something has been at a halt.
	Now time.Time
	// Served is true while custom resources of this kind can be made: that one is
	// gone means nothing where its whole kind is being taken away.
	Served bool
}

// Move is what an operator does next. The zero value is: nothing is to be
// changed, look at how the cluster is.
type Move struct {
	// Request is a new operation.
	Request *Request
	// Continue takes up the operation in flight, Back steps it back.
	Continue, Back bool
	// Link writes into the record whose it is.
	Link bool
	// Inherit writes what is wanted without an operation into the record.
	Inherit bool
	// Asked is the object that Request is for, by its UID; "" if it is for the cluster.
	Asked string
	// Rest: nothing is to be done, nor looked at.
	Rest bool
}

// Govern says what an operator does next. It is pure. An error says why
// nothing can be done, and what a person would have to do.
func Govern(g Charge) (Move, error) {
	switch {
	case g.Custom == nil && g.Record == nil && g.Active != nil && g.Active.Spec.Verb == v1alpha1.VerbDelete && g.Active.Spec.RequestedBy == DesiredBy:
		return Move{Continue: true}, nil // it died after its last step: only its own record is left to close
	case g.Custom == nil && (g.Record == nil || g.Record.Annotations[v1alpha1.AnnotationCustom] == ""):
		return Move{Rest: true}, nil
	case g.Custom == nil:
		return bereaved(g)
	case g.Custom.DeletionTimestamp != nil:
		return Move{Rest: true}, nil
	case g.Record == nil && g.Active != nil && g.Active.Spec.Verb == v1alpha1.VerbDelete:
		return Move{Continue: true}, nil // of an earlier cluster of this name
	case g.Record == nil:
		c := &v1alpha1.DatabaseCluster{Spec: *g.Custom.Spec.DeepCopy()}
		c.Name, c.Namespace = g.Custom.Name, g.Custom.Namespace
		c.Annotations = map[string]string{v1alpha1.AnnotationCustom: string(g.Custom.UID)}
		return conceive(c), nil
	}
	switch owner := g.Record.Annotations[v1alpha1.AnnotationCustom]; {
	case owner == "":
		return Move{Rest: true}, &Error{Kind: Refused, Check: "name-taken",
			Message: fmt.Sprintf("the name is taken: configmap %s holds a cluster that the command line made, and databasecluster %s asks for one", v1alpha1.Record(g.Record.Name), g.Custom.Name),
			Hint:    fmt.Sprintf("put that cluster under this object: kubectl dbop operator adopt %s -n %s; or delete this object", g.Custom.Name, g.Custom.Namespace)}
	case owner != string(g.Custom.UID):
		return Move{Link: true}, nil
	}
	switch o := g.Active; {
	case o == nil:
	case g.Custom.Spec.Paused != g.Record.Spec.Paused:
		return Move{Inherit: true}, nil
	case g.Custom.Spec.Paused:
		return Move{Rest: true}, nil
	default:
		return Move{Continue: true, Back: g.Back()}, nil
	}
	if Inherit(g.Custom.Spec, g.Record.DeepCopy()) {
		return Move{Inherit: true}, nil
	}
	if g.Custom.Spec.Paused {
		return Move{}, nil
	}
	if f := g.Record.Status.Formation; f == nil || f.ClusterID == "" {
		// Whoever wrote the cluster down died before the operation. What was
		// edited since follows once there is a cluster.
		return conceive(g.Record.DeepCopy()), nil
	}
	if len(g.Backups) > 0 {
		// Before what is wanted changes: it costs nothing, and may be wanted for that.
		return Move{Request: Asked(g.Backups[0], g.Custom), Asked: string(g.Backups[0].UID)}, nil
	}
	o, err := Desire(g.Custom.Spec, g.Record)
	if err != nil || o == nil {
		return Move{}, err
	}
	return Move{Request: &Request{Operation: *o}}, nil
}

// Back reports whether the operation in flight is to be stepped back: a person
// does not want any more what it is about, the object that asked for it is
// gone, or it keeps the cluster for too long from what else may be needed.
func (g Charge) Back() bool {
	o := g.Active
	if o.Spec.Object == "" || o.Status.Phase == v1alpha1.PhaseCancelling {
		return Withdrawn(g.Custom.Spec, o)
	}
	return g.Orphan || o.Status.Phase == v1alpha1.PhasePaused && g.Now.Sub(o.Status.StartedAt.Time) > askedPatience
}

// conceive asks for a cluster that is not there yet.
func conceive(c *v1alpha1.DatabaseCluster) Move {
	if c.Spec.Paused {
		return Move{Rest: true}
	}
	o := v1alpha1.OperationSpec{Cluster: c.Name, Verb: v1alpha1.VerbCreate, RequestedBy: DesiredBy, Members: c.Spec.Members, Version: c.Spec.Version}
	if slices.Contains(c.Spec.Waive, "size") {
		o.Waive = []string{"size"}
	}
	if from := c.Spec.RestoreFrom; from != nil {
		o.Verb, o.KeepRevision = v1alpha1.VerbRestore, from.KeepRevision
		o.Source = &v1alpha1.BackupSource{Repository: from.Repository, Backup: from.Backup, Auth: c.Spec.Auth.Enabled, RootSecret: from.RootSecret}
	}
	return Move{Request: &Request{Operation: o, Cluster: c}}
}

// bereaved ends a cluster whose custom resource was deleted, as was said when
// it still existed. Where the kind is not served any more nobody asked for that.
func bereaved(g Charge) (Move, error) {
	c := g.Record
	if !g.Served {
		return Move{Rest: true}, nil
	}
	if g.Active != nil && g.Active.Spec.Verb == v1alpha1.VerbDelete {
		return Move{Continue: true}, nil
	}
	if c.Spec.Paused {
		return Move{Rest: true}, nil
	}
	o := v1alpha1.OperationSpec{Cluster: c.Name, Verb: v1alpha1.VerbDelete, RequestedBy: DesiredBy, Purge: c.Spec.DeletionPolicy == v1alpha1.DeletionPurge}
	policy := c.Spec.DeletionPolicy
	if policy == "" && c.Spec.Backup.Repository == "" {
		policy = v1alpha1.DeletionKeep
	}
	if policy == v1alpha1.DeletionKeep || policy == v1alpha1.DeletionPurge {
		o.Waive = []string{"backup"}
		return Move{Request: &Request{Operation: o}}, nil
	}
	if err := keep(&o, c.Spec); err != nil {
		if r, ok := errors.AsType[*engine.Refusal](err); ok {
			r.Hint = fmt.Sprintf("end it by hand: kubectl dbop delete %s -n %s", c.Name, c.Namespace)
		}
		return Move{Rest: true}, err
	}
	return Move{Request: &Request{Operation: o}}, nil
}

// Complete fills in what an operation that follows from a custom resource
// needs to be written down: a founding, or a name for its backup.
func Complete(r *Request, now time.Time, random io.Reader) error {
	if r.Cluster != nil {
		return Found(r.Cluster, random)
	}
	o := &r.Operation
	if o.Repository == "" || o.Backup != "" {
		return nil
	}
	id, err := repository.NewID(o.Cluster, now, random)
	if err != nil {
		return err
	}
	o.Backup = id
	return nil
}
