package agreed

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// Promises says what a cluster of a spec may lose, by what an engine says of each durability, what stops its primary,
// and what leads clients to another one. There is nothing to say of options that are refused.
func Promises(spec v1alpha1.DatabaseClusterSpec, losses map[protocol.Durability]string) []string {
	s, err := Settings(spec.Config)
	if err != nil {
		return nil
	}
	if spec.Members == 1 {
		return []string{"no failover: it has one member"}
	}
	text := fmt.Sprintf("durability %s: %s", s.Durability, losses[s.Durability])
	if s.Durability != protocol.Strict {
		bound := resource.NewQuantity(int64(s.MaxLag), resource.BinarySI) //nolint:gosec // it was one before
		text += ", up to " + bound.String() + " of the log"
	}
	all := []string{text, fmt.Sprintf("without a majority of its members the primary stops writes within %s, and "+
		"replicas are read on", s.Timing.Lease)}
	if spec.Direct() {
		all = append(all, "clients go straight to the primary; while the API server is away, the client service does not "+
			"lead them to another one")
	}
	return all
}
