package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/addresses"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/flags"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/refusal"
)

var _ engine.AlarmClearer = (*Session)(nil)

// proofLease is how long the lease of a proof lives if nobody revokes it.
const proofLease = 30 * time.Second

// ProveWrite implements engine.AlarmClearer with a lease. It takes the way of
// every write, is refused for want of space and for damage as a put is
// (apply.go, applierV3Capped and applierV3Corrupt), and neither moves the
// revision on nor wakes a watcher. Each member judges its own space, so each is asked.
func (s *Session) ProveWrite(ctx context.Context, members []string) error {
	for _, member := range members {
		var failed error
		err := s.With(member, func(c *Connection) bool {
			ctx, cancel := context.WithTimeout(ctx, changeTimeout)
			defer cancel()
			granted, err := c.Client.Grant(ctx, int64(proofLease.Seconds()))
			if failed = err; err == nil {
				// It ends by itself if this fails.
				_, _ = c.Client.Revoke(ctx, granted.ID)
			}
			return true
		})
		if err == nil {
			err = proofFault(ctx, member, failed)
		}
		if err != nil {
			return fmt.Errorf("prove a write at member %s: %w", member, err)
		}
	}
	return nil
}

// proofFault tells of an alarm that came back.
func proofFault(ctx context.Context, member string, failed error) error {
	switch known := rpctypes.Error(failed); {
	case errors.Is(known, rpctypes.ErrNoSpace):
		return refusal.New("space", "repeat the command; if it does not last, raise the quota: kubectl dbop configure "+
			addresses.ClusterOf(member)+" --set "+flags.QuotaOption+"=BYTES",
			"it has no space again (%v)", known)
	case errors.Is(known, rpctypes.ErrCorrupt):
		return refusal.New("damage", "repeat the command: it compares all members again", "damage was found again (%v)",
			known)
	}
	return fault(ctx, failed)
}
