package client

import (
	"context"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
)

// LeadClients implements engine.ClientLeader.
func (s *Session) LeadClients(ctx context.Context) error {
	return s.order(ctx, "lead clients to the primary", func(ctx context.Context, c *api.Client) error {
		return c.Lead(ctx)
	})
}
