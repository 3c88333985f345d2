package cli

import (
	"context"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// liveVerifier verifies on a real cluster.
type liveVerifier struct {
	*ops.Live
	client *kube.Client
}

func (l *live) verifier(o runnerOptions) (verifier, error) {
	config, err := l.liveConfig(o)
	if err != nil {
		return nil, err
	}
	config.Namespace, config.Name = o.wanted.Namespace, o.wanted.Name
	return &liveVerifier{Live: ops.NewLive(config), client: config.Client}, nil
}

// Turn implements verifier.
func (v *liveVerifier) Turn(ctx context.Context, r repository.Repository, id string, report func(bytes, total int64)) error {
	facts, err := v.client.Facts(ctx, v.Wanted)
	if err != nil {
		return err
	}
	return v.VerifyBackup(ctx, ops.State{Now: v.client.Now(), Cluster: v.Wanted, Kube: facts}, r, id, report)
}
