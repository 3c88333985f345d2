package valkey

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
		protocol.Strict: "a failover loses nothing that WAIT confirmed; it may lose writes that were only answered " +
			"with OK",
		protocol.Preferred: "a failover may lose writes that WAIT did not confirm; if the server of the primary is killed " +
			"while its disk is slow, up to two seconds of the others too",
		protocol.Async: "a failover may lose what the new primary had not received",
	})
	if from := spec.Source; from != nil {
		promises = append(promises, "its data is that of "+from.Address+", which it follows until kubectl dbop cutover: "+
			"clients only read until then; users and settings of "+from.Address+" do not come along")
	}
	return promises
}
