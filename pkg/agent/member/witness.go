package member

import (
	"context"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// Witness is the server of a member that has none: it votes.
type Witness struct{}

// Observe sees nothing.
func (Witness) Observe(context.Context) protocol.Server { return protocol.Server{} }

// Changed has nothing to tell.
func (Witness) Changed() <-chan struct{} { return nil }

// Do has nothing to do.
func (Witness) Do(_ context.Context, job protocol.Job, _ func() bool) error {
	return fmt.Errorf("a witness can't %s", job.Kind)
}
