package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

var _ engine.Presenter = (*Session)(nil)

// renewalNear is from when on before its end a certificate that an open
// connection once saw is observed again: it may have been renewed meanwhile.
const renewalNear = 45 * 24 * time.Hour

// errPlainText is what a member that serves no certificate amounts to.
var errPlainText = errors.New("it serves in plain text")

// Present implements engine.Presenter.
func (s *Session) Present(ctx context.Context, member string) (engine.Presented, error) {
	var p engine.Presented
	var failure error
	err := s.With(member, func(c *Connection) bool {
		p, failure = c.present(ctx)
		return true
	})
	if err = errors.Join(err, failure); err != nil {
		return p, fmt.Errorf("read the certificate of member %s: %w", member, err)
	}
	return p, nil
}

// certificate is what the member showed when this connection was made, or
// shows now where that failed or is about to run out; nil if nothing was seen.
func (c *Connection) certificate(ctx context.Context) *engine.Presented {
	if c.secure == nil {
		return nil
	}
	if seen := c.showed.Load(); seen != nil && time.Until(seen.NotAfter) > renewalNear {
		return seen
	}
	if now, err := c.present(ctx); err == nil {
		c.showed.Store(&now)
	}
	return c.showed.Load()
}

// present makes a handshake of its own.
func (c *Connection) present(ctx context.Context) (engine.Presented, error) {
	if c.secure == nil {
		return engine.Presented{}, errPlainText
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	raw, err := c.dial(ctx)
	if err != nil {
		return engine.Presented{}, err
	}
	return engine.ReadPresented(ctx, raw, c.secure)
}
