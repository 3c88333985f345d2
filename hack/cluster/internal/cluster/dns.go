package cluster

import (
	"context"
	"fmt"
	"syscall"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/control"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/process"
)

// StopDNS makes the cluster's DNS silent. It is frozen and not ended: a
// question without an answer is worse for who asks than a refusal, and that is
// what a lost resolver resembles from a pod.
func (c Cluster) StopDNS(context.Context) error {
	if err := process.Signal(c.Site, control.CoreDNS, syscall.SIGSTOP); err != nil {
		return err
	}
	c.Log.Printf("DNS does not answer")
	return nil
}

// StartDNS lets the cluster's DNS answer again, and sees that it does.
func (c Cluster) StartDNS(ctx context.Context) error {
	if err := process.Signal(c.Site, control.CoreDNS, syscall.SIGCONT); err != nil {
		return err
	}
	if err := control.Resolves(ctx); err != nil {
		return fmt.Errorf("wake DNS: %w", err)
	}
	c.Log.Printf("DNS answers")
	return nil
}
