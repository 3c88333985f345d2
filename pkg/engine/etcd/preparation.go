package etcd

import "github.com/dbop-dev/kubectl-dbop/pkg/engine"

// Preparation implements engine.Rules; see PrepareUpgrade.
func (*Engine) Preparation(v engine.View, target string) string {
	to, err := parseVersion(target)
	if err != nil || to.line() != v2FreeLine {
		return ""
	}
	for _, m := range v.Members {
		if from, err := parseVersion(m.Version); err == nil && from.line().less(v2FreeLine) {
			return "3.7 can't read log entries that 3.5 wrote; a snapshot puts them behind"
		}
	}
	return ""
}
