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

// Hold implements engine.Holder. The hold takes the place of the former one in one step: who dies in between leaves one
// of them in force. Where an agent is too old for that, the former one is ended first.
func (s *Session) Hold(ctx context.Context, h engine.Hold) error {
	return s.order(ctx, "have no other member lead", func(ctx context.Context, c *api.Client) error {
		now, err := c.Status(ctx)
		if err != nil {
			return err
		}
		next := api.Hold{ID: asked, Hold: protocol.Hold{For: h.For, By: h.By, Why: h.Why}}
		before, held := now.Holds[asked]
		switch {
		case held && now.ReplacesHolds:
			next.Number = before.Number + 1
		case held:
			if err := c.EndHold(ctx, asked); err != nil {
				return err
			}
		}
		return c.StartHold(ctx, next)
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
