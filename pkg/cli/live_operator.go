package cli

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/runner"
)

func (l *live) installer(mode kube.DryRun) (installer, error) {
	c, err := l.client(mode)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// handover works on the record and the custom resource alone, so that what is
// written to one is not mirrored to the other.
func (l *live) handover(e engine.Engine) (handover, runner.Customs, error) {
	config, err := l.liveConfig(runnerOptions{engine: e})
	if err != nil {
		return nil, nil, err
	}
	return &runner.Runner{Engine: e, Store: kube.NewConfigMapStore(config.Client), Lock: lock(config.Client), Reporter: ops.Silent{}}, config.Client, nil
}
