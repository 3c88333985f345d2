package etcd

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/flags"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/refusal"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/versions"
)

// CheckSettings implements engine.Rules. A quota below the size of the data
// file would raise NOSPACE at once, and the cluster would refuse every write.
func (*Engine) CheckSettings(v engine.View, spec v1alpha1.DatabaseClusterSpec, force bool) error {
	target, err := versions.Supported(spec.Version)
	if err != nil {
		return err
	}
	if err := flags.Lint(spec.Config, target); err != nil {
		return err
	}
	if err := checkStorage(spec, force); err != nil {
		return err
	}
	most, err := flags.Quota(spec)
	if err != nil {
		return err
	}
	for _, m := range v.Members {
		if m.Reachable && m.DataBytes >= most {
			return refusal.New("quota", refusal.Command("defrag",
				v)+" gives space back; or choose a larger "+flags.QuotaOption,
				"the data file of member %s has %d bytes and would not fit into a quota of %d", m.Name, m.DataBytes, most)
		}
	}
	return nil
}
