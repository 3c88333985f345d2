package executor

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/helper"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/helperpod"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/repositories"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
)

// archiveLog makes what archives the log of a cluster as the settings ask for, or removes it. A repeat changes nothing.
func (l *Executor) archiveLog(ctx context.Context, c *v1alpha1.DatabaseCluster) error {
	a, ok := l.Engine.(engine.LogArchiver)
	if !ok {
		return nil
	}
	spec := helperpod.Spec{Name: v1alpha1.Archive(c.Name), Namespace: l.Namespace, Cluster: c,
		Purpose: helperpod.PurposeArchive, Image: l.helperImage(c), Args: []string{"helper", "archive"},
		Resources: workload.ScheduleResources()}
	name := a.ArchiveRepository(c.Spec)
	if name == "" {
		return helperpod.DeleteKeeper(ctx, l.Client, spec)
	}
	d, err := l.repositories(c).describe(ctx, l.Namespace, name)
	if err != nil {
		return err
	}
	record := &v1alpha1.DatabaseCluster{Spec: v1alpha1.DatabaseClusterSpec{Engine: c.Spec.Engine, TLS: c.Spec.TLS},
		Status: v1alpha1.DatabaseClusterStatus{ID: c.Status.ID, Bootstrap: c.Status.Bootstrap.DeepCopy()}}
	record.Name, record.Namespace = c.Name, c.Namespace
	raw, err := json.Marshal(record)
	if err != nil {
		return fmt.Errorf("write down what archives the log of %s: %w", c.Name, err)
	}
	spec.Env = map[string]string{helper.EnvArchive: string(raw)}
	spec.Files = []helperpod.Files{
		{Volume: repositories.Volume("repository", d, false), Path: helper.MountedRepository},
		{Volume: secretFiles("tls", v1alpha1.AdminSecret(c.Name)), Path: helper.BackupTLS},
	}
	return helperpod.ApplyKeeper(ctx, l.Client, spec)
}
