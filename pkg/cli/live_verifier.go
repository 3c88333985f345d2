package cli

import (
	"context"
	"errors"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/executor"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// liveVerifier verifies on a real cluster.
type liveVerifier struct {
	*executor.Live
	client *kube.Client
	// left is the backup whose verification has not ended; "" for none.
	left string
}

func (l *live) verifier(o runnerOptions) (verifier, error) {
	config, err := l.liveConfig(o)
	if err != nil {
		return nil, err
	}
	config.Namespace, config.Name = o.wanted.Namespace, o.wanted.Name
	return &liveVerifier{Live: executor.NewLive(config), client: config.Client}, nil
}

// Turn implements verifier.
func (v *liveVerifier) Turn(ctx context.Context, r repository.Repository, id string, report func(bytes, total int64)) error {
	facts, err := v.client.Facts(ctx, v.Wanted, kube.Rendered{})
	if err != nil {
		return err
	}
	v.left = id
	err = v.VerifyBackup(ctx, ops.State{Now: v.client.Now(), Cluster: v.Wanted, Kube: facts}, r, id, report)
	if !errors.Is(err, engine.ErrNotReady) {
		v.left = ""
	}
	return err
}

// Close implements verifier. A verification that was interrupted, or ran out of
// time, leaves no helper pod.
func (v *liveVerifier) Close() error {
	var err error
	if v.left != "" {
		err = v.EndVerification(context.Background(), v.Wanted, v.left)
	}
	return errors.Join(err, v.Live.Close())
}
