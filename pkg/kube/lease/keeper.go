package lease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// keeper is a held lease and the goroutine that renews it.
type keeper struct {
	client   *kube.Client
	options  Options
	cluster  string
	scope    Scope
	key      client.ObjectKey
	identity string

	lost chan struct{}
	once sync.Once
	stop context.CancelFunc
	done chan struct{}

	mu       sync.Mutex
	released bool
}

// hold starts renewing. began is before the request that took the lease was
// sent: everybody else saw that write later.
func hold(ctx context.Context, a *acquisition, l *coordinationv1.Lease, began moment) *keeper {
	// Renewal outlives the caller's context: an interrupted operation still
	// writes its record under the lease, and then releases it.
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	k := &keeper{client: a.client, options: a.options, cluster: a.cluster, scope: a.scope, key: a.key,
		identity: a.identity,
		lost:     make(chan struct{}), stop: stop, done: make(chan struct{})}
	go k.keep(ctx, l, began)
	return k
}

// keep renews until it is stopped or the lease is gone. renewed is the moment
// from which the duration counts.
func (k *keeper) keep(ctx context.Context, l *coordinationv1.Lease, renewed moment) {
	defer close(k.done)
	// Every deadline hangs on this context, so that even a renewal that hangs
	// ends in time: once the duration is over, others may act.
	next := time.NewTimer(k.options.RenewEvery)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		began := now()
		left := k.options.Duration - renewed.elapsed()
		if left <= 0 {
			k.lose()
			return
		}
		// One renewal that hangs leaves time for another.
		attempt, cancel := context.WithTimeout(ctx, min(k.options.RenewEvery, left))
		fresh, err := k.renew(attempt, l)
		cancel()
		switch {
		case err == nil:
			l, renewed = fresh, began
			// A process that stood still reads the answer when it is worth nothing.
			next.Reset(min(k.options.RenewEvery, k.options.Duration-renewed.elapsed()))
		case ctx.Err() != nil:
			return
		case errors.Is(err, ErrLost), renewed.elapsed() >= k.options.Duration:
			k.lose()
			return
		default:
			next.Reset(min(k.options.RenewEvery/5, k.options.Duration-renewed.elapsed()))
		}
	}
}

func (k *keeper) renew(ctx context.Context, l *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	l = l.DeepCopy()
	now := metav1.NewMicroTime(k.client.Now())
	l.Spec.RenewTime = &now
	err := k.client.API.Update(ctx, l)
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, kube.ErrNotFound):
		return nil, ErrLost
	case !errors.Is(err, kube.ErrConflict):
		return nil, err
	}
	// An earlier renewal whose answer was lost is a conflict too.
	found := &coordinationv1.Lease{}
	if err := k.client.API.Get(ctx, k.key, found); err != nil {
		return nil, err
	}
	if holder(found) != k.identity {
		return nil, ErrLost
	}
	found.Spec.RenewTime = &now
	return found, k.client.API.Update(ctx, found)
}

func (k *keeper) lose() { k.once.Do(func() { close(k.lost) }) }

// Lost is closed when the lease is gone.
func (k *keeper) Lost() <-chan struct{} { return k.lost }

// Check asks the API server; see Lease.
func (k *keeper) Check(ctx context.Context) error {
	select {
	case <-k.lost:
		return fmt.Errorf("cluster %s: %w", k.cluster, ErrLost)
	default:
	}
	found := &coordinationv1.Lease{}
	err := k.client.API.Get(ctx, k.key, found)
	switch {
	case err == nil && holder(found) == k.identity:
		return nil
	case err == nil, errors.Is(err, kube.ErrNotFound):
		k.lose()
		return fmt.Errorf("cluster %s is now held by %q: %w", k.cluster, displayHolder(found), ErrLost)
	default:
		return fmt.Errorf("check the lease of cluster %s: %w", k.cluster, err)
	}
}

// Regain reads the lease. Nobody else ever writes our name: where it still is,
// nobody held the lease since. The write is guarded by the version read.
func (k *keeper) Regain(ctx context.Context) (Lease, error) {
	k.stop()
	<-k.done
	found := &coordinationv1.Lease{}
	switch err := k.client.API.Get(ctx, k.key, found); {
	case errors.Is(err, kube.ErrNotFound), err == nil && holder(found) != k.identity:
		return nil, fmt.Errorf("cluster %s was taken over by %q: %w", k.cluster, displayHolder(found), ErrLost)
	case err != nil:
		return nil, fmt.Errorf("read the lease of cluster %s: %w", k.cluster, err)
	}
	a := &acquisition{client: k.client, options: k.options, cluster: k.cluster, scope: k.scope, key: k.key,
		identity:  k.identity,
		processes: processTable{root: "/proc"}}
	return a.take(ctx, found)
}

// Release gives the lease back, if it is still ours. If it fails, the lease
// expires by itself. The leases of a cluster that is no more go too.
func (k *keeper) Release(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.released {
		return nil
	}
	k.stop()
	<-k.done
	k.released = true
	var err error
	for range reaches {
		if err = k.giveBack(ctx); err == nil || !kube.Transient(err) && !errors.Is(err, kube.ErrConflict) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("release the lease of cluster %s: %w", k.cluster, err)
	}
	return nil
}

// giveBack clears the lease, or deletes that of a cluster that is no more. It
// is repeated if what came of it is unknown.
func (k *keeper) giveBack(ctx context.Context) error {
	found := &coordinationv1.Lease{}
	err := k.client.API.Get(ctx, k.key, found)
	switch {
	case err == nil && holder(found) != k.identity:
		return nil
	case err == nil && k.clusterGone(ctx):
		if err = k.forgetBackup(ctx); err != nil {
			return err
		}
		err = k.client.API.Delete(ctx, found,
			client.Preconditions{UID: &found.UID, ResourceVersion: &found.ResourceVersion})
	case err == nil:
		none := ""
		found.Spec.HolderIdentity = &none
		delete(found.Annotations, kube.AnnotationProcess)
		delete(found.Annotations, kube.AnnotationOperation)
		err = k.client.API.Update(ctx, found)
	}
	return kube.IgnoreNotFound(err)
}

// forgetBackup deletes the lease of the backups of a cluster that is no more: nobody may have it any more, and who had
// it last may be dead.
func (k *keeper) forgetBackup(ctx context.Context) error {
	if k.scope != Cluster {
		return nil
	}
	l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: k.key.Namespace, Name: Backup.name(k.cluster)}}
	if err := k.client.API.Get(ctx, client.ObjectKeyFromObject(l), l); err != nil {
		return kube.IgnoreNotFound(err)
	}
	return kube.IgnoreNotFound(k.client.API.Delete(ctx, l, client.Preconditions{UID: &l.UID}))
}

func (k *keeper) clusterGone(ctx context.Context) bool {
	record := client.ObjectKey{Namespace: k.key.Namespace, Name: v1alpha1.Record(k.cluster)}
	return errors.Is(k.client.API.Get(ctx, record, &corev1.ConfigMap{}), kube.ErrNotFound)
}
