package cli

import (
	"context"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/executor"
)

// liveKeys asks a real cluster.
type liveKeys struct {
	*executor.Live
	cluster *v1alpha1.DatabaseCluster
	client  *kube.Client
}

func (l *live) keys(namespace string, c *v1alpha1.DatabaseCluster, e engine.Engine) (keys, error) {
	config, err := l.liveConfig(runnerOptions{engine: e, dryRun: kube.DryRunClient})
	if err != nil {
		return nil, err
	}
	config.Namespace, config.Name = namespace, c.Name
	return &liveKeys{Live: executor.NewLive(config), cluster: c, client: config.Client}, nil
}

// Users implements keys.
func (k *liveKeys) Users(ctx context.Context) ([]engine.User, error) {
	return k.Live.Users(ctx, k.cluster)
}

// Passwords implements keys.
func (k *liveKeys) Passwords(ctx context.Context, secret string) (kube.Passwords, error) {
	return k.client.Passwords(ctx, k.cluster.Namespace, secret)
}
