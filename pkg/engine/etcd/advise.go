package etcd

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

var _ engine.Adviser = (*Engine)(nil)

// Advise implements engine.Adviser. Neither alarm goes by itself, and neither
// may be disarmed first: etcd would raise NOSPACE again at the next write, and
// would serve damaged data without CORRUPT.
func (*Engine) Advise(c *v1alpha1.DatabaseCluster, member, alarm string) (engine.Advice, bool) {
	connect := fmt.Sprintf("kubectl dbop connect %s -- ", c.Name)
	switch alarm {
	case "NOSPACE":
		return engine.Advice{Meaning: "the quota is used up, and the cluster takes no writes but deletions", Remedy: []string{
			"delete keys that nobody needs, then compact their history: " + connect + "compact REVISION",
			"give the space back, one member after another: " + connect + "defrag",
			"only then: " + connect + "alarm disarm",
		}}, true
	case "CORRUPT":
		return engine.Advice{Meaning: "its data differs from the others', and the cluster takes no writes", Remedy: []string{
			"do not disarm it: the damage would be served",
			"compare the members at one revision: " + connect + "endpoint hashkv --cluster",
			fmt.Sprintf("if one differs from a majority, replace that one: kubectl dbop replace-member %s %s --force", c.Name, member),
			"if no majority agrees, restore a backup",
			"disarm only when all hashes agree: " + connect + "alarm disarm",
		}}, true
	}
	return engine.Advice{}, false
}
