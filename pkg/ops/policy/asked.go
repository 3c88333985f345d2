package policy

import (
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// askedPatience is how long a backup that an object asked for may keep its
// cluster, once it came to a halt.
const askedPatience = 10 * time.Minute

// Asked is the very operation that 'kubectl dbop backup' asks for, asked for
// by an object. It goes where backups of the cluster are wanted, unless the
// object says otherwise.
func Asked(b v1alpha1.DatabaseBackup, want *v1alpha1.DatabaseCluster) *planner.Request {
	o := v1alpha1.OperationSpec{Cluster: want.Name, Verb: v1alpha1.VerbBackup, RequestedBy: ops.OperatorPrefix +
		"databasebackup " + b.Name,
		Repository: b.Spec.Repository, BackupParameters: v1alpha1.BackupParameters{Verify: b.Spec.Verify,
			Incremental: b.Spec.Incremental, Object: string(b.UID)}}
	if o.Repository == "" {
		o.Repository = want.Spec.Backup.Repository
	}
	return &planner.Request{Operation: o}
}
