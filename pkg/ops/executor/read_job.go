package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/helper"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/helperpod"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

var _ ops.JobReader = (*Executor)(nil)

// ReadJob implements ops.JobReader. A Job that has failed takes no backup any more.
func (l *Executor) ReadJob(ctx context.Context, op *v1alpha1.Operation) (ops.JobState, error) {
	name := ops.BackupJob(op.Spec.Backup)
	j, err := helperpod.GetJob(ctx, l.Client, l.Namespace, name)
	if errors.Is(err, kube.ErrNotFound) {
		return ops.JobState{}, nil
	}
	if err != nil {
		return ops.JobState{}, fmt.Errorf("read job %s: %w", name, err)
	}
	return ops.JobState{Runs: !j.Done && !j.Failed, Done: j.Done, Source: jobSource(j)}, nil
}

// jobSource is the member that a Job was told to read. "" if it does not say so.
func jobSource(j helperpod.Job) string {
	var request helper.BackupRequest
	if json.Unmarshal([]byte(j.Env[helper.EnvBackup]), &request) != nil {
		return ""
	}
	return request.Member
}
