package etcd

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// CheckSettings implements engine.Rules. A quota below the size of the data
// file would raise NOSPACE at once, and the cluster would refuse every write.
func (*Engine) CheckSettings(v engine.View, spec v1alpha1.DatabaseClusterSpec, force bool) error {
	target, err := supported(spec.Version)
	if err != nil {
		return err
	}
	if err := lint(spec.Config, target); err != nil {
		return err
	}
	if err := checkStorage(spec, force); err != nil {
		return err
	}
	most, err := quota(spec)
	if err != nil {
		return err
	}
	for _, m := range v.Members {
		if m.Reachable && m.DataBytes >= most {
			return refuse("quota", command("defrag", v)+" gives space back; or choose a larger "+quotaOption,
				"the data file of member %s has %d bytes and would not fit into a quota of %d", m.Name, m.DataBytes, most)
		}
	}
	return nil
}
