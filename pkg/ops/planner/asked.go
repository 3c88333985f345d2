package planner

import (
	"errors"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// checkAsked judges what an object asks for: an operator has no directory.
func checkAsked(o v1alpha1.OperationSpec) error {
	if o.Object == "" {
		return nil
	}
	spec := v1alpha1.DatabaseClusterSpec{Backup: v1alpha1.BackupPolicy{Repository: o.Repository}}
	err := Keep(&v1alpha1.OperationSpec{Cluster: o.Cluster, Verb: o.Verb}, spec)
	if r, ok := errors.AsType[*engine.Refusal](err); ok {
		r.Hint = `set spec.backup.repository of the cluster to "pvc:CLAIM"; or delete this object, and make another one with spec.repository`
		if o.Repository == "" {
			r.Reason = fmt.Sprintf("neither this object nor databasecluster %s names a repository", o.Cluster)
		}
	}
	return err
}
