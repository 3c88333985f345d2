package ops

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// askedPatience is how long a backup that an object asked for may keep its
// cluster, once it came to a halt.
const askedPatience = 10 * time.Minute

// Asked is the very operation that 'kubectl dbop backup' asks for, asked for
// by an object. It goes where backups of the cluster are wanted, unless the
// object says otherwise.
func Asked(b v1alpha1.DatabaseBackup, want *v1alpha1.DatabaseCluster) *Request {
	o := v1alpha1.OperationSpec{Cluster: want.Name, Verb: v1alpha1.VerbBackup, RequestedBy: operatorPrefix + "databasebackup " + b.Name,
		Repository: b.Spec.Repository, Verify: b.Spec.Verify, Object: string(b.UID)}
	if o.Repository == "" {
		o.Repository = want.Spec.Backup.Repository
	}
	return &Request{Operation: o}
}

// checkAsked judges what an object asks for: an operator has no directory.
func checkAsked(o v1alpha1.OperationSpec) error {
	if o.Object == "" {
		return nil
	}
	spec := v1alpha1.DatabaseClusterSpec{Backup: v1alpha1.BackupPolicy{Repository: o.Repository}}
	err := keep(&v1alpha1.OperationSpec{Cluster: o.Cluster, Verb: o.Verb}, spec)
	if r, ok := errors.AsType[*engine.Refusal](err); ok {
		r.Hint = `set spec.backup.repository of the cluster to "pvc:CLAIM"; or delete this object, and make another one with spec.repository`
		if o.Repository == "" {
			r.Reason = fmt.Sprintf("neither this object nor databasecluster %s names a repository", o.Cluster)
		}
	}
	return err
}

// onceOnly keeps a second backup from being taken for one object: whoever found
// that none was begun may have stood still since. It is asked under the lease.
func (r *Runner) onceOnly(ctx context.Context, namespace string, o v1alpha1.OperationSpec) error {
	if o.Object == "" {
		return nil
	}
	records, err := r.Store.ListOperations(ctx, namespace, o.Cluster)
	if err != nil {
		return err
	}
	for _, op := range records {
		if op.Spec.Object == o.Object {
			return &Error{Kind: Unchanged, Message: "operation " + op.Name + " is that backup already"}
		}
	}
	return nil
}
