package backups

import (
	"fmt"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// Keep names where the backup goes that an operation takes first. An operator
// has no directory that outlives its pod.
func Keep(o *v1alpha1.OperationSpec, want v1alpha1.DatabaseClusterSpec) error {
	o.Repository = want.Backup.Repository
	if slices.Contains(o.Waive, "backup") {
		o.Repository = ""
		return nil
	}
	if o.Repository == "" {
		return &engine.Refusal{Check: "repository", Reason: fmt.Sprintf(
			"%s takes a backup of %s first, and spec.backup.repository names no place for it", o.Verb, o.Cluster),
			Hint: `set spec.backup.repository to "pvc:CLAIM" or the name of a repository, or give the backup up with spec.waive: [backup]`}
	}
	at, err := repository.ParseLocation(o.Repository)
	if err != nil {
		return &engine.Refusal{Check: "repository", Reason: err.Error(),
			Hint: `spec.backup.repository is "pvc:CLAIM", "pvc:CLAIM/PATH" or the name of a repository`}
	}
	if at.Kind == repository.KindDirectory {
		return &engine.Refusal{Check: "repository", Reason: fmt.Sprintf(
			"%s is a directory of one machine, which an operator does not have", o.Repository),
			Hint: `set spec.backup.repository to "pvc:CLAIM" or the name of a repository`}
	}
	return nil
}
