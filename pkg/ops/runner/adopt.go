package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/policy"
)

// CustomResources is where custom resources are.
type CustomResources interface {
	GetCustom(ctx context.Context, namespace, name string) (*v1alpha1.DatabaseCluster, error)
	CreateCustom(ctx context.Context, c *v1alpha1.DatabaseCluster) error
	DeleteCustom(ctx context.Context, c *v1alpha1.DatabaseCluster) error
	// OperatorAlive reports whether somebody manages that custom resource.
	OperatorAlive(ctx context.Context, namespace, name string) (bool, error)
}

// Adopt puts a cluster of the command line under a custom resource. Nothing of
// the database is touched: the object says what the record says already, and
// the record says whose it is. Interrupted, a repeat goes on.
func (r *Runner) Adopt(ctx context.Context, customResources CustomResources, namespace, name string) error {
	return r.exclusively(ctx, namespace, name, func(record *v1alpha1.DatabaseCluster) error {
		custom, err := customResources.GetCustom(ctx, namespace, name)
		switch {
		case errors.Is(err, kube.ErrNotFound):
			custom = &v1alpha1.DatabaseCluster{Spec: *record.Spec.DeepCopy()}
			custom.Name, custom.Namespace, custom.Labels = name, namespace, maps.Clone(record.Labels)
			// The data is there, wherever it came from, and no custom resource
			// names a directory of one machine.
			custom.Spec.RestoreFrom = nil
			if policy.CheckRepositories(custom.Spec) != nil {
				custom.Spec.Backup.Repository = ""
			}
			if err := customResources.CreateCustom(ctx, custom); errors.Is(err, kube.ErrNotFound) {
				return &ops.Error{Kind: ops.Refused, Check: "definition",
					Message: "custom resources of kind DatabaseCluster can't be made: their definition is not installed",
					Hint:    "install an operator with it: kubectl dbop operator install", Err: err}
			} else if err != nil {
				return fmt.Errorf("make databasecluster %s: %w", name, err)
			}
		case err != nil:
			return err
		case record.Annotations[v1alpha1.AnnotationCustom] == string(custom.UID):
			return &ops.Error{Kind: ops.Unchanged, Message: name + " is under its custom resource already"}
		}
		// An object that a person wrote must want what there is: what would
		// follow from a difference is theirs to see first.
		wanted := policy.Resolve(r.Engine, custom, record, record.Spec.HelperImage)
		if o, err := planner.Diff(wanted.Spec, record); err != nil {
			return ops.Refusal(err)
		} else if o != nil {
			return &ops.Error{Kind: ops.Refused, Check: "differs",
				Message: fmt.Sprintf("databasecluster %s exists and wants something else than cluster %s is: %s "+
					"would follow", name,
					name, o.Verb),
				Hint: fmt.Sprintf("make both say the same, or delete the object: kubectl delete dbc %s -n %s", name, namespace)}
		}
		policy.Link(record, custom, "") // the operator fills in the definition, which not everybody may read
		return r.Store.UpdateCluster(ctx, record)
	})
}

// Release takes a cluster from under its custom resource; the command line
// alone has a say then. The record forgets the object before the object goes,
// so that nobody takes that for a deletion.
func (r *Runner) Release(ctx context.Context, customResources CustomResources, namespace, name string) error {
	return r.exclusively(ctx, namespace, name, func(record *v1alpha1.DatabaseCluster) error {
		linked := record.Annotations[v1alpha1.AnnotationCustom] != ""
		if linked {
			policy.Unlink(record)
			if err := r.Store.UpdateCluster(ctx, record); err != nil {
				return err
			}
		}
		custom, err := customResources.GetCustom(ctx, namespace, name)
		switch {
		case errors.Is(err, kube.ErrNotFound) && !linked:
			return &ops.Error{Kind: ops.Unchanged, Message: name + " is under no custom resource"}
		case errors.Is(err, kube.ErrNotFound):
			return nil // its kind may be gone too
		case err != nil:
			return err
		}
		return customResources.DeleteCustom(ctx, custom)
	})
}

// exclusively does something about a record under the lease of its cluster.
func (r *Runner) exclusively(ctx context.Context, namespace, name string,
	do func(*v1alpha1.DatabaseCluster) error) error {
	held, err := r.lock(ctx, namespace, name, lease.Cluster)
	if err != nil {
		return err
	}
	defer giveBack(ctx, held)
	record, err := r.Store.GetCluster(ctx, namespace, name)
	if err != nil {
		return err
	}
	if err := held.Check(ctx); err != nil {
		return err
	}
	return do(record)
}
