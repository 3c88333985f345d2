package client

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

var _ engine.Authenticator = (*Session)(nil)

// proofKey is read, and written in a transaction whose condition never holds.
const proofKey = "dbop.dev/proof-of-access"

// EnableAuth implements engine.Authenticator. etcd refuses it without a user
// root that has the role root; a repeat is a success there too.
func (s *Session) EnableAuth(ctx context.Context) error {
	err := s.atLeader(ctx, func(ctx context.Context, c *Connection) error {
		_, err := c.Client.AuthEnable(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("enable authentication: %w", err)
	}
	return nil
}

// DisableAuth implements engine.Authenticator.
func (s *Session) DisableAuth(ctx context.Context) error {
	err := s.atLeader(ctx, func(ctx context.Context, c *Connection) error {
		if status, err := c.Client.AuthStatus(ctx); err != nil || !status.Enabled {
			return err
		}
		_, err := c.Client.AuthDisable(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("disable authentication: %w", err)
	}
	return nil
}

// ProveAuth implements engine.Authenticator. etcd judges both branches of a
// transaction whichever is taken, so that the right to write shows without a write.
func (s *Session) ProveAuth(ctx context.Context, client engine.Access) error {
	err := s.atLeader(ctx, func(ctx context.Context, c *Connection) error {
		if status, err := c.Client.AuthStatus(ctx); err != nil || !status.Enabled {
			return errors.Join(errors.New("the administrator does not find authentication turned on"), err)
		}
		switch _, err := c.Client.Get(asNobody(ctx), proofKey); {
		case err == nil:
			return errors.New("somebody without a name may still read")
		case !errors.Is(rpctypes.Error(err), rpctypes.ErrUserEmpty):
			return fmt.Errorf("try to read without a name: %w", err)
		}
		return nil
	})
	if err == nil {
		err = s.proveClient(ctx, client)
	}
	if err != nil {
		return fmt.Errorf("prove that authentication works: %w", err)
	}
	return nil
}

// proveClient reads and all but writes as somebody else.
func (s *Session) proveClient(ctx context.Context, client engine.Access) error {
	other := New(client, s.At)
	other.remember(s.known())
	name, err := s.findLeader(ctx)
	if err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	var failed error
	err = other.With(name, func(c *Connection) bool {
		if _, failed = c.Client.Get(bounded, proofKey); failed != nil {
			return false
		}
		_, failed = c.Client.Txn(bounded).If(clientv3.Compare(clientv3.Version(proofKey), "<",
			0)).Then(clientv3.OpPut(proofKey, "")).Commit()
		return failed == nil
	})
	err = errors.Join(err, fault(ctx, failed))
	if closed := other.Close(); !errors.Is(closed, context.Canceled) {
		err = errors.Join(err, closed)
	}
	if err != nil {
		return fmt.Errorf("as the applications' user: %w", err)
	}
	return nil
}
