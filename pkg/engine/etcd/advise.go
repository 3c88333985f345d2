package etcd

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/client"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/flags"
)

var _ engine.Adviser = (*Engine)(nil)

// SpaceOption implements engine.Adviser.
func (*Engine) SpaceOption() string { return flags.QuotaOption }

// Advise implements engine.Adviser. Neither alarm goes by itself, and neither
// may be disarmed first: etcd would raise NOSPACE again at the next write, and
// would serve damaged data without CORRUPT. So nothing here says how.
func (*Engine) Advise(c *v1alpha1.DatabaseCluster, _, alarm string) (engine.Advice, bool) {
	clearing := "kubectl dbop alarms clear " + c.Name
	switch client.Causes[alarm] {
	case engine.CauseSpace:
		return engine.Advice{Meaning: "the quota is used up, and the cluster takes no writes but deletions",
			Remedy: []string{
				"delete keys that nobody needs, if there are any",
				clearing + " drops history, gives the space back, and takes the alarm back once there is some",
				fmt.Sprintf("if that is not enough: kubectl dbop configure %s --set %s=BYTES, and then once more", c.Name,
					flags.QuotaOption),
			}}, true
	case engine.CauseDamage:
		return engine.Advice{Meaning: "members differ in their data, and the cluster takes no writes", Remedy: []string{
			clearing +
				" compares all members; it names the one that differs from a majority, and takes the alarm back only " +
				"when all agree",
			fmt.Sprintf("replace the one that it names: kubectl dbop member replace %s MEMBER --force", c.Name),
			fmt.Sprintf("if no majority agrees, restore a backup: kubectl dbop restore %s --in-place --from BACKUP", c.Name),
		}}, true
	}
	return engine.Advice{}, false
}
