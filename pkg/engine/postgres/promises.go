package postgres

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/agreed"
)

var _ engine.Promiser = (*Engine)(nil)

// Promises implements engine.Promiser.
func (*Engine) Promises(spec v1alpha1.DatabaseClusterSpec) []string {
	promises := agreed.Promises(spec, map[protocol.Durability]string{
		protocol.Strict: "a failover loses nothing that was acknowledged; without a standby that acknowledges, " +
			"writes wait",
		protocol.Preferred: "a failover may lose what was acknowledged while no standby streamed",
		protocol.Async:     "a failover may lose what the new primary had not received",
	})
	if from := spec.Source; from != nil {
		promises = append(promises, "its data is that of "+from.Address+", which it follows until kubectl dbop cutover: "+
			"it lets no client in until then, and the databases of "+from.Address+" let nobody in after it; settings, "+
			"publications, subscriptions and rows of unlogged tables do not come along")
	}
	return promises
}
