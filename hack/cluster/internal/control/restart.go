package control

import (
	"context"
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/api"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/process"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

// Restart kills a component without warning, leaves it away for a while and
// starts it again. It returns when the whole control plane serves.
func Restart(ctx context.Context, at site.Site, client *api.Client, name string, away time.Duration) error {
	spec, err := named(at, name)
	if err != nil {
		return err
	}
	if err := process.End(ctx, at, name); err != nil {
		return err
	}
	// Whatever happens meanwhile, a cluster without the component is of no use
	// to anybody: it comes back also if the wait is cut off.
	select {
	case <-time.After(away):
	case <-ctx.Done():
	}
	running, err := process.Start(at, spec)
	if err != nil {
		return err
	}
	return running.Await(ctx, func(ctx context.Context) error { return Healthy(ctx, at, client) })
}

// named is how a component is started.
func named(at site.Site, name string) (process.Spec, error) {
	switch name {
	case Etcd:
		return etcd(at), nil
	case APIServer:
		return apiServer(at), nil
	case ControllerManager:
		return controllerManager(at), nil
	case Scheduler:
		return scheduler(at), nil
	case CoreDNS:
		return coreDNS(at)
	case Provisioner:
		return provisioner(at), nil
	}
	return process.Spec{}, fmt.Errorf("there is no component %q, only %v", name, Components)
}
