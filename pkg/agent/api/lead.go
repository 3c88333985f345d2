package api

import (
	"context"
	"net/http"
)

// ClientLeader is what the service needs of who has the Kubernetes service of clients select the primary.
type ClientLeader interface {
	// Lead reads it now, and changes it where that is needed, if this member is the primary.
	Lead(ctx context.Context) error
}

// lead is for the agent of the primary.
func (s *Service) lead(w http.ResponseWriter, r *http.Request) {
	if s.Clients == nil {
		finish(w, Refused{Why: "this agent passes clients on, and leads them nowhere"})
		return
	}
	finish(w, s.Clients.Lead(r.Context()))
}

// Lead has the agent of the primary read now the service that leads clients straight to it, and returns once it selects
// the primary. Again has no effect. The agent reads it every half minute anyway.
func (c *Client) Lead(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, "/v1/lead", nil, nil)
}
