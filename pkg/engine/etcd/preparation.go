package etcd

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/versions"
)

// Preparation implements engine.Rules; see PrepareUpgrade.
func (*Engine) Preparation(v engine.View, target string) string {
	to, err := versions.Parse(target)
	if err != nil {
		return ""
	}
	for _, m := range v.Members {
		from, err := versions.Parse(m.Version)
		switch {
		case err != nil:
		case to.Line() == versions.V2FreeLine && from.Line().Less(versions.V2FreeLine):
			return "3.7 can't read log entries in the format of 3.5, which an old log may hold; after a snapshot it " +
				"does not need them"
		case to.Line().Less(from.Line()):
			return fmt.Sprintf(
				"a member tells of the older storage a moment before it has saved its log as such, and killed in that "+
					"moment %s can't read it", to.Line())
		}
	}
	return ""
}
