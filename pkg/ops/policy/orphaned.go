package policy

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/backups"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// CheckOrphaned names the finding that a record's custom resource is missing,
// and that nobody knows whether its database is still wanted.
const CheckOrphaned = "custom-resource-missing"

// Link has a record say which custom resource it belongs to, and which
// definition served that; "" if this is not known yet.
func Link(record, custom *v1alpha1.DatabaseCluster, definition string) {
	if record.Annotations == nil {
		record.Annotations = map[string]string{}
	}
	record.Annotations[v1alpha1.AnnotationCustom] = string(custom.UID)
	record.Annotations[v1alpha1.AnnotationDefinition] = definition
	if definition == "" {
		delete(record.Annotations, v1alpha1.AnnotationDefinition)
	}
}

// Unlink has a record say that it belongs to no custom resource.
func Unlink(record *v1alpha1.DatabaseCluster) {
	delete(record.Annotations, v1alpha1.AnnotationCustom)
	delete(record.Annotations, v1alpha1.AnnotationDefinition)
	record.Status.Deletion = nil
}

// ConfirmDeletion writes into the record that its custom resource was deleted,
// and what the object said last about what becomes of the data.
func ConfirmDeletion(record, deleted *v1alpha1.DatabaseCluster, now time.Time) {
	planner.SyncSettings(deleted.Spec, record, false)
	record.Status.Deletion = &v1alpha1.Deletion{Object: deleted.UID, Record: record.UID, At: metav1.NewTime(now)}
}

// confirmedIn reports whether the record says, of itself and not as a copy,
// that a custom resource of it was deleted.
func confirmedIn(record *v1alpha1.DatabaseCluster) bool {
	d := record.Status.Deletion
	return d != nil && d.Record == record.UID
}

// Ends reports whether an operator saw the custom resource of a record being
// deleted, wrote that down, and so ends the database.
func Ends(record *v1alpha1.DatabaseCluster) bool {
	return confirmedIn(record) && string(record.Status.Deletion.Object) == record.Annotations[v1alpha1.AnnotationCustom]
}

// orphaned decides about a cluster whose custom resource is missing. That alone
// ends nothing: the definition of its kind may have been deleted, or made again,
// or a backup of the namespace may be on its way back. The database is ended if
// this process saw that very object being deleted, on purpose, and wrote it down.
func orphaned(g Input) (NextAction, error) {
	c := g.Record
	deleting := g.Active != nil && g.Active.Spec.Verb == v1alpha1.VerbDelete
	switch {
	case deleting && g.Active.Spec.RequestedBy != planner.DesiredBy:
		return NextAction{Rest: true}, nil // a command does that, and a repeat of it goes on
	case deleting && confirmedIn(c):
		return NextAction{Continue: true}, nil
	case Ends(c):
		return requestEnd(c)
	}
	if why := doubtful(g); why != "" {
		return NextAction{Rest: true}, notConfirmed(c, why)
	}
	return NextAction{Confirm: true}, nil
}

// doubtful says why the custom resource's absence is not a person's request to
// end the database; "" if it is one.
func doubtful(g Input) string {
	linked, d := g.Record.Annotations[v1alpha1.AnnotationDefinition], g.Deleted
	switch {
	case d == nil:
		return "this operator did not see it being deleted"
	case linked == "":
		return "the definition of its kind was not known while it existed; may the operator read " +
			"customresourcedefinition " +
			v1alpha1.DefinitionName + "?"
	case g.Definition == "":
		return "the definition of its kind is gone, or is being deleted"
	case g.Definition != linked:
		return "the definition of its kind was deleted and created again"
	case d.Spec.Paused || g.Record.Spec.Paused:
		return "the cluster was paused when it was deleted"
	case d.Annotations[v1alpha1.AnnotationConfirmDeletion] == d.Name:
		return ""
	}
	if manager := health.ManagedBy(d); manager != "" {
		return fmt.Sprintf("it was managed by a tool (%s), and did not have the annotation %s: %s", manager,
			v1alpha1.AnnotationConfirmDeletion, d.Name)
	}
	return ""
}

// notConfirmed is told where nothing is done, with all that can be typed.
func notConfirmed(c *v1alpha1.DatabaseCluster, why string) error {
	return &ops.Error{Kind: ops.NeedsHuman, Check: CheckOrphaned,
		Message: fmt.Sprintf("databasecluster %s is missing, and its database was left as it is: %s", c.Name, why),
		Hint: fmt.Sprintf(
			"apply the object again; or manage the cluster by commands: kubectl dbop operator release %s; or end it: "+
				"kubectl dbop delete %s", c.Name, c.Name)}
}

// requestEnd asks for the end of a database, in the way that its object asked for.
func requestEnd(c *v1alpha1.DatabaseCluster) (NextAction, error) {
	if c.Spec.Paused {
		return NextAction{Rest: true}, nil
	}
	o := v1alpha1.OperationSpec{Cluster: c.Name, Verb: v1alpha1.VerbDelete, RequestedBy: planner.DesiredBy,
		DeleteParameters: v1alpha1.DeleteParameters{Purge: c.Spec.DeletionPolicy == v1alpha1.DeletionPurge}}
	policy := c.Spec.DeletionPolicy
	if policy == "" && c.Spec.Backup.Repository == "" {
		policy = v1alpha1.DeletionKeep
	}
	if policy == v1alpha1.DeletionKeep || policy == v1alpha1.DeletionPurge {
		o.Waive = []string{"backup"}
		return NextAction{Request: &planner.Request{Operation: o}}, nil
	}
	if err := backups.Keep(&o, c.Spec); err != nil {
		refused := ops.Refusal(err)
		refused.Hint = fmt.Sprintf("end it by hand: kubectl dbop delete %s", c.Name)
		return NextAction{Rest: true}, refused
	}
	return NextAction{Request: &planner.Request{Operation: o}}, nil
}
