package etcd

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/flags"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/versions"
)

// Lint implements engine.Renderer. It names the first offence in the order of
// the alphabet. A flag that a version does not know keeps etcd from starting,
// so this is asked of an upgrade's target before a pod is touched.
func (*Engine) Lint(config map[string]string, target string) error {
	v, err := versions.Supported(target)
	if err != nil {
		return err
	}
	return flags.Lint(config, v)
}
