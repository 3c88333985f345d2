package policy

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// Input is everything that decides what an operator does next for one name:
// the custom resource, the record, and what is in flight.
type Input struct {
	// Custom is the custom resource; nil if there is none.
	Custom *v1alpha1.DatabaseCluster
	// Agents says that its members run agents.
	Agents bool
	// Record is what the tool wrote down of the cluster; nil if there is none.
	Record *v1alpha1.DatabaseCluster
	// Damaged says what is wrong with a record that can't be used; nil if there is none, or if it is well.
	Damaged error
	// Kept is what is there of a cluster whose record is missing or damaged.
	Kept store.Kept
	// Active is the ordinary operation in flight, Backup the backup; nil if there is none.
	Active, Backup *v1alpha1.Operation
	// Hindered: what is wanted was just tried, and can't begin beside the backup.
	Hindered bool
	// Backups are the objects that ask for a backup of this cluster and got no
	// answer yet, oldest first.
	Backups []v1alpha1.DatabaseBackup
	// Orphan: the object that asked for the operation in flight is gone.
	Orphan bool
	// Now tells how long something has been at a halt.
	Now time.Time
	// Definition is the UID of the definition of custom resources, as the API
	// server just told it; "" if there is none, if it is being deleted, if this
	// operator may not read it, or if nobody asked.
	Definition string
	// Deleted is the custom resource as it was when this process saw it being
	// deleted; nil if it did not.
	Deleted *v1alpha1.DatabaseCluster
}

// NextAction is what an operator does next. The zero value is: nothing is to be
// changed, read how the cluster is.
type NextAction struct {
	// Request is a new operation.
	Request *planner.Request
	// Continue takes up the operation in flight, or with Backup the backup; Back steps it back.
	Continue, Backup, Back bool
	// Link writes into the record whose it is.
	Link bool
	// SyncSettings writes what is wanted without an operation into the record.
	SyncSettings bool
	// Confirm writes into the record that its custom resource was deleted.
	Confirm bool
	// Asked is the object that Request is for, by its UID; "" if it is for the cluster.
	Asked string
	// Rest: nothing is to be done, nor observed.
	Rest bool
}

// Next says what an operator does next. It is pure. An error says why
// nothing can be done, and what a person would have to do. A backup in flight goes on while nothing else is wanted, or
// can't begin beside it.
func Next(g Input) (NextAction, error) {
	m, err := next(g)
	if g.Backup == nil || g.Active != nil || g.Custom == nil || g.Record == nil || g.Custom.Spec.Paused || m.Rest ||
		m.Link || m.SyncSettings || m.Request != nil && !g.Hindered {
		return m, err
	}
	return NextAction{Continue: true, Backup: true, Back: g.Back(g.Backup)}, nil
}

func next(g Input) (NextAction, error) {
	switch {
	case g.rewritable():
		o := v1alpha1.OperationSpec{Cluster: g.Custom.Name, Verb: v1alpha1.VerbRepair,
			RestartParameters: v1alpha1.RestartParameters{Quiet: true},
			RequestedBy:       SelfHealedBy}
		return NextAction{Request: &planner.Request{Operation: o, Cluster: g.Kept.Record}}, nil
	case g.Custom != nil && g.Damaged != nil:
		return NextAction{Rest: true}, &ops.Error{Kind: ops.NeedsHuman, Check: "record-damaged", Message: "cluster " +
			g.Custom.Name, Err: g.Damaged,
			Hint: fmt.Sprintf("write it again from what is there: kubectl dbop repair %s", g.Custom.Name)}
	case g.Custom == nil && g.Record == nil && g.Active != nil && g.Active.Spec.Verb == v1alpha1.VerbDelete &&
		g.Active.Spec.RequestedBy == planner.DesiredBy:
		return NextAction{Continue: true}, nil // it died after its last step: only its own record is left to close
	case g.Custom == nil && (g.Record == nil || g.Record.Annotations[v1alpha1.AnnotationCustom] == ""):
		return NextAction{Rest: true}, nil
	case g.Custom == nil:
		return orphaned(g)
	case g.Custom.DeletionTimestamp != nil:
		return NextAction{Rest: true}, nil
	case g.Record == nil && g.Active != nil && g.Active.Spec.Verb == v1alpha1.VerbDelete:
		return NextAction{Continue: true}, nil // of an earlier cluster of this name
	case g.Record == nil && g.Kept.Lost():
		return NextAction{Rest: true}, planner.Missing(g.Custom.Namespace, g.Custom.Name, g.Kept)
	case g.Record == nil:
		if err := CheckRepositories(g.Custom.Spec); err != nil {
			return NextAction{Rest: true}, err
		}
		c := &v1alpha1.DatabaseCluster{Spec: *g.Custom.Spec.DeepCopy()}
		c.Name, c.Namespace = g.Custom.Name, g.Custom.Namespace
		Link(c, g.Custom, g.Definition)
		return conceive(c), nil
	}
	switch owner := g.Record.Annotations[v1alpha1.AnnotationCustom]; {
	case owner == "":
		return NextAction{Rest: true}, &ops.Error{Kind: ops.Refused, Check: "name-taken",
			Message: fmt.Sprintf(
				"the name is taken: configmap %s holds a cluster that the command line made, and databasecluster %s "+
					"asks for one",
				v1alpha1.Record(g.Record.Name), g.Custom.Name),
			Hint: fmt.Sprintf(
				"put that cluster under this object: kubectl dbop operator adopt %s -n %s; or delete this object",
				g.Custom.Name,
				g.Custom.Namespace)}
	case owner != string(g.Custom.UID), g.Definition != "" &&
		g.Record.Annotations[v1alpha1.AnnotationDefinition] != g.Definition:
		return NextAction{Link: true}, nil
	}
	switch o := g.Active; {
	case o == nil:
	case o.Spec.Verb == v1alpha1.VerbDelete && o.Spec.RequestedBy == planner.DesiredBy && !confirmedIn(g.Record):
		return NextAction{Rest: true}, &ops.Error{Kind: ops.NeedsHuman, Check: CheckOrphaned,
			Message: fmt.Sprintf(
				"operation %s deletes the database, but was not started for this object: it was restored together with "+
					"the record of %s", o.Name, g.Record.Name),
			Hint: fmt.Sprintf(
				"nothing is done until a person decides: to finish the deletion, kubectl dbop operator release %s, then "+
					"kubectl dbop delete %s", g.Record.Name, g.Record.Name)}
	case g.Custom.Spec.Paused != g.Record.Spec.Paused:
		return NextAction{SyncSettings: true}, nil
	case g.Custom.Spec.Paused:
		return NextAction{Rest: true}, nil
	case planner.Verbs().Bootstraps(o) && ops.Unformed(g.Record) && g.SyncSettings(g.Record.DeepCopy()):
		return NextAction{SyncSettings: true}, nil
	default:
		back := g.Back(o)
		if err := needsMachine(o); err != nil && !back && o.Status.Phase != v1alpha1.PhaseCancelling {
			return NextAction{Rest: true}, err
		}
		return NextAction{Continue: true, Back: back}, nil
	}
	if g.Custom.Spec.Backup.Repository != g.Record.Spec.Backup.Repository {
		if err := CheckRepositories(g.Custom.Spec); err != nil {
			return NextAction{}, err
		}
	}
	if g.SyncSettings(g.Record.DeepCopy()) {
		return NextAction{SyncSettings: true}, nil
	}
	if g.Custom.Spec.Paused {
		return NextAction{}, nil
	}
	if f := g.Record.Status.Bootstrap; f == nil || f.ClusterID == "" {
		// Who wrote the cluster down died before the operation. What was
		// edited since follows once there is a cluster.
		return conceive(g.Record.DeepCopy()), nil
	}
	if len(g.Backups) > 0 && g.Backup == nil {
		// Before what is wanted changes: it costs nothing, and may be wanted for that.
		return NextAction{Request: Asked(g.Backups[0], g.Custom), Asked: string(g.Backups[0].UID)}, nil
	}
	o, err := planner.Diff(g.Custom.Spec, g.Record)
	switch {
	case err != nil:
		return NextAction{}, err
	case o != nil:
		return NextAction{Request: &planner.Request{Operation: *o}}, nil
	case g.Record.Status.Bootstrap.Unfinished && g.Record.Spec.Auth.Enabled && !g.Record.Spec.Stopped:
		// The record of the operation was lost before the users. What else is wanted comes first: a stopped cluster has
		// to start before they can be made.
		return conceive(g.Record.DeepCopy()), nil
	}
	return NextAction{}, nil
}

// Back reports whether an operation in flight is to be stepped back: a person
// does not want any more what it is about, the object that asked for it is
// gone, or it keeps the cluster for too long from what else may be needed.
func (g Input) Back(o *v1alpha1.Operation) bool {
	if needsMachine(o) != nil && planner.Verbs().Cancellable(o) == nil && o.Status.Phase != v1alpha1.PhaseCancelling {
		return true // who asked for it is gone, as nobody has the lease, and it keeps the cluster from all else
	}
	if o.Spec.Object == "" || o.Status.Phase == v1alpha1.PhaseCancelling {
		return planner.Withdrawn(g.Custom.Spec, o)
	}
	return g.Orphan || o.Status.Phase == v1alpha1.PhasePaused && g.Now.Sub(o.Status.StartedAt.Time) > askedPatience
}

// conceive asks for a cluster that is not there yet.
func conceive(c *v1alpha1.DatabaseCluster) NextAction {
	if c.Spec.Paused {
		return NextAction{Rest: true}
	}
	o := v1alpha1.OperationSpec{Cluster: c.Name, Verb: v1alpha1.VerbCreate, RequestedBy: planner.DesiredBy,
		SizeParameters:    v1alpha1.SizeParameters{Members: c.Spec.Members},
		VersionParameters: v1alpha1.VersionParameters{Version: c.Spec.Version}}
	if slices.Contains(c.Spec.Waive, "size") {
		o.Waive = []string{"size"}
	}
	if from := c.Spec.RestoreFrom; from != nil {
		o.Verb, o.KeepRevision = v1alpha1.VerbRestore, from.KeepRevision
		o.Source = &v1alpha1.BackupSource{Repository: from.Repository, Backup: from.Backup, Auth: c.Spec.Auth.Enabled,
			RootSecret: from.RootSecret, Target: from.Target}
	}
	return NextAction{Request: &planner.Request{Operation: o, Cluster: c}}
}

// Complete fills in what an operation that follows from a custom resource
// needs to be written down: a founding, or a name for its backup. A cluster that
// is written down was founded before, and that of a repair long ago.
func Complete(e engine.Engine, r *planner.Request, now time.Time, random io.Reader) error {
	if r.Cluster != nil && (r.Operation.Verb == v1alpha1.VerbRepair || r.Cluster.Status.Bootstrap != nil) {
		return nil
	}
	if r.Cluster != nil {
		return Found(e, r.Cluster, random)
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
