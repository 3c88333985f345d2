package store

import (
	"context"
	"errors"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// How old a heartbeat may be, and how long a doubtful one is watched.
const (
	heartbeatAge   = 10 * time.Second
	heartbeatWatch = 3 * time.Second
)

// OperatorAlive reports whether the operator of a cluster is
// alive. One that can't be asked about counts as alive: to wait for it is
// safe, to act beside it is only slower.
func (r CustomResources) OperatorAlive(ctx context.Context, namespace, name string) (bool, error) {
	custom, err := r.GetCustom(ctx, namespace, name)
	if errors.Is(err, kube.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	at, lease, ok := strings.Cut(custom.Status.Operator, "/")
	if !ok {
		return false, nil
	}
	first := ""
	for began := time.Now(); ; {
		l := &coordinationv1.Lease{}
		err := r.Client.API.Get(ctx, client.ObjectKey{Namespace: at, Name: lease}, l)
		if _, ok := errors.AsType[*kube.ForbiddenError](err); ok {
			return true, nil
		}
		switch {
		case errors.Is(err, kube.ErrNotFound):
			return false, nil
		case err != nil:
			return false, err
		case l.Spec.HolderIdentity == nil || *l.Spec.HolderIdentity == "":
			return false, nil
		case l.Spec.RenewTime != nil && r.Client.Now().Sub(l.Spec.RenewTime.Time).Abs() < heartbeatAge, first != "" &&
			first != l.ResourceVersion:
			return true, nil
		case time.Since(began) > heartbeatWatch:
			return false, nil
		}
		first = l.ResourceVersion
		timer := time.NewTimer(heartbeatWatch / 6)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return false, context.Cause(ctx)
		}
	}
}
