package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/versions"
)

var _ engine.Downgrader = (*Session)(nil)

// AnnounceDowngrade implements engine.Downgrader. The leader then lowers the
// version that the cluster speaks, and each member writes a snapshot of its
// log and migrates its storage, all within seconds.
func (s *Session) AnnounceDowngrade(ctx context.Context, target string) error {
	to, err := versions.Parse(target)
	if err != nil {
		return fmt.Errorf("announce the downgrade: %w", err)
	}
	err = s.atLeader(ctx, func(ctx context.Context, c *Connection) error {
		for _, action := range []clientv3.DowngradeAction{clientv3.DowngradeValidate, clientv3.DowngradeEnable} {
			_, err := c.maintenance().Downgrade(ctx, action, to.Line().String())
			switch err := rpctypes.Error(err); {
			case errors.Is(err, rpctypes.ErrDowngradeInProcess):
				return nil
			case errors.Is(err, rpctypes.ErrInvalidDowngradeTargetVersion):
				// The rules have judged the step: the cluster speaks the target
				// for a moment only, because an announcement was just taken back.
				return fmt.Errorf("etcd takes no downgrade to %s as things stand: %w", to.Line(), engine.ErrNotReady)
			case err != nil:
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("announce the downgrade to %s: %w", target, err)
	}
	return nil
}

// obeyTimeout is how long the answer to a cancellation is waited for.
const obeyTimeout = time.Second

// WithdrawDowngrade implements engine.Downgrader. The answer to a cancellation
// tells nothing: 3.6 and 3.7 say yes to one that failed, and 3.5 obeys and
// never answers. What counts is whether the downgrade is still under way.
func (s *Session) WithdrawDowngrade(ctx context.Context) error {
	err := s.atLeader(ctx, func(ctx context.Context, c *Connection) error {
		failed := c.cancelDowngrade(ctx)
		status, err := askStatus(ctx, c)
		if err != nil {
			return err
		}
		pending, err := announced(ctx, c, status)
		if err == nil && pending != "" {
			err = errors.Join(fmt.Errorf("the downgrade to %s is still under way: %w", pending, engine.ErrNotReady), failed)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("take the downgrade back: %w", err)
	}
	return nil
}

func (c *Connection) cancelDowngrade(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, obeyTimeout)
	defer cancel()
	_, err := c.maintenance().Downgrade(ctx, clientv3.DowngradeCancel, "")
	return err
}

// announced asks the leader which downgrade is under way, "" for none. From
// 3.6 on its status tells. 3.5 tells nobody, but will not even judge another
// downgrade while one is under way, and judging changes nothing.
func announced(ctx context.Context, c *Connection, status *clientv3.StatusResponse) (string, error) {
	if d := status.DowngradeInfo; d != nil {
		if !d.Enabled {
			return "", nil
		}
		return d.TargetVersion, nil
	}
	v, err := versions.Parse(status.Version)
	if err != nil || !v.Line().Less(versions.SchemaLine) {
		return "", err
	}
	_, err = c.maintenance().Downgrade(ctx, clientv3.DowngradeValidate, v.Line().Previous().String())
	switch err := rpctypes.Error(err); {
	case err == nil, errors.Is(err, rpctypes.ErrInvalidDowngradeTargetVersion):
		return "", nil
	case errors.Is(err, rpctypes.ErrDowngradeInProcess):
		return v.Line().String() + ".0", nil
	default:
		return "", fmt.Errorf("ask whether a downgrade is under way: %w", err)
	}
}
