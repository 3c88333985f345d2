package operator

import (
	"context"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// A cache whose kind went away asks for it again at growing intervals, and
// keeps what it knew: how often the operator checks whether the kind is there,
// and for how long after its return it does not rely on the cache.
const (
	servedEvery = 5 * time.Second
	staleFor    = 2 * time.Minute
)

// returned notices that the kind of custom resources came back, and has the
// operator take notice of them before its cache does.
type returned struct {
	served func(context.Context) (bool, error)
	api    client.Reader
	// namespaces are those that are managed; "" is all of them.
	namespaces []string
	wake       chan event.GenericEvent
	// until is when the cache can be relied on again, in nanoseconds.
	until atomic.Int64
}

// stale reports whether the cache may not know yet what there is; nil never does.
func (k *returned) stale(now time.Time) bool { return k != nil && now.UnixNano() < k.until.Load() }

// Start implements manager.Runnable.
func (k *returned) Start(ctx context.Context) error {
	gone := false
	for tick := time.NewTicker(servedEvery); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return nil
		case <-tick.C:
		}
		gone = k.look(ctx, time.Now(), gone)
	}
}

// observe asks once, and says whether the kind is gone.
func (k *returned) look(ctx context.Context, now time.Time, gone bool) bool {
	served, err := k.served(ctx)
	switch {
	case err != nil:
		return gone // the server is away, or busy: that says nothing
	case !served:
		return true
	case gone:
		ctrllog.Log.Info("the kind DatabaseCluster is back")
		k.until.Store(now.Add(staleFor).UnixNano())
	case !k.stale(now):
		return false
	}
	for _, namespace := range k.namespaces {
		list := &v1alpha1.DatabaseClusterList{}
		if err := k.api.List(ctx, list, client.InNamespace(namespace)); err != nil {
			continue // the next observation asks again
		}
		for i := range list.Items {
			select {
			case k.wake <- event.GenericEvent{Object: &list.Items[i]}:
			case <-ctx.Done():
			}
		}
	}
	return false
}
