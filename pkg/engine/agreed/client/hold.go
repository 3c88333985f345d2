package client

import (
	"context"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// asked is the name of the hold that people ask for.
const asked = "asked"

var _ engine.Holder = (*Session)(nil)

// Hold implements engine.Holder.
func (s *Session) Hold(ctx context.Context, h engine.Hold) error {
	if err := s.EndHold(ctx); err != nil {
		return err
	}
	return s.order(ctx, "have no other member lead", func(ctx context.Context, c *api.Client) error {
		return c.StartHold(ctx, api.Hold{ID: asked, Hold: protocol.Hold{For: h.For, By: h.By, Why: h.Why}})
	})
}

// EndHold implements engine.Holder.
func (s *Session) EndHold(ctx context.Context) error {
	return s.order(ctx, "let every member lead", func(ctx context.Context, c *api.Client) error {
		return c.EndHold(ctx, asked)
	})
}

// hold is what an agent says of it.
func hold(s api.Status) *engine.Hold {
	h, held := s.Holds[asked]
	if !held {
		return nil
	}
	return &engine.Hold{For: h.For, By: h.By, Why: h.Why}
}
