package simulation

import (
	"context"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
)

// leaseTime is after how long a lease that is not renewed is free.
const leaseTime = 15 * time.Second

// lease is the lock on one cluster. Its holder renews it by itself, unless it
// is dead, frozen or kept from the API server.
type leaseRecord struct {
	holder  *actor
	renewed time.Time
	lost    chan struct{}
}

// renew lets living holders renew, and tells those that failed for too long.
func (w *world) renew() {
	for _, l := range w.leases {
		h := l.holder
		if h == nil {
			continue
		}
		if !h.dead && !w.now.Before(h.frozenUntil) && !w.weather.down(w.now) && w.now.Sub(l.renewed) < leaseTime {
			l.renewed = w.now
		}
		if w.now.Sub(l.renewed) >= leaseTime && !w.now.Before(h.frozenUntil) {
			l.drop()
		}
	}
}

func (l *leaseRecord) drop() {
	if l.holder == nil {
		return
	}
	l.holder.lostLease = l.renewed.Add(leaseTime)
	l.holder = nil
	close(l.lost)
}

// held is one actor's hold on a lease.
type held struct {
	actor *actor
	key   string
	lost  chan struct{}
}

// leaseOf is the name of a lease.
func leaseOf(cluster string, scope lease.Scope) string { return cluster + "/" + string(scope) }

// acquire takes a cluster's lease, waiting out a holder that does not renew it.
func (a *actor) acquire(ctx context.Context, cluster string, scope lease.Scope) (lease.Lease, error) {
	began, key := time.Now(), leaseOf(cluster, scope)
	for {
		got := make(chan struct{})
		var holder *actor
		alive := false
		err := a.call(ctx, "take the lease", func() error {
			l := a.world.leases[key]
			if l == nil {
				l = &leaseRecord{}
				a.world.leases[key] = l
			}
			if l.holder != nil && l.holder != a {
				holder = l.holder
				alive = l.renewed.After(began.Add(time.Second))
				if a.world.now.Sub(l.renewed) < leaseTime {
					return nil
				}
				l.drop()
			}
			l.holder, l.renewed, l.lost = a, a.world.now, got
			holder = nil
			return nil
		})
		switch {
		case err != nil:
			return nil, err
		case holder == nil:
			return &held{actor: a, key: key, lost: got}, nil
		case alive:
			return nil, &lease.HeldError{Cluster: cluster, Scope: scope, Holder: holder.name}
		}
		if err := a.sleep(ctx, time.Second); err != nil {
			return nil, err
		}
	}
}

// Check implements lease.Lease.
func (h *held) Check(ctx context.Context) error {
	return h.actor.call(ctx, "check the lease", func() error {
		l := h.actor.world.leases[h.key]
		if l == nil || l.holder != h.actor || h.actor.world.now.Sub(l.renewed) >= leaseTime {
			return lease.ErrLost
		}
		l.renewed = h.actor.world.now
		h.actor.checked = h.actor.world.now
		return nil
	})
}

// Lost implements lease.Lease.
func (h *held) Lost() <-chan struct{} { return h.lost }

// Regain implements lease.Lease: a holder that lost it here leaves it to the next.
func (h *held) Regain(context.Context) (lease.Lease, error) { return nil, lease.ErrLost }

// Release implements lease.Lease.
func (h *held) Release(ctx context.Context) error {
	return h.actor.call(ctx, "give back the lease", func() error {
		if l := h.actor.world.leases[h.key]; l != nil && l.holder == h.actor {
			l.holder = nil
		}
		return nil
	})
}
