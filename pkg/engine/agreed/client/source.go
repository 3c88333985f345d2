package client

import (
	"context"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

var _ engine.Follower = (*Session)(nil)

// CutOver implements engine.Follower. An agent whose server can't follow another refuses it.
func (s *Session) CutOver(ctx context.Context, how engine.CutOverRequest) (out engine.CutOver, err error) {
	err = s.order(ctx, "cut over", func(ctx context.Context, c *api.Client) error {
		done, err := c.Cutover(ctx, api.Cutover{Stopped: how.Stopped, Back: how.Back})
		out = engine.CutOver{Gap: done.Gap, Paused: done.Paused, Compared: done.Compared}
		if err == nil && done.Forbidden != "" {
			return &engine.Refusal{Check: engine.CheckWriters, Reason: done.Forbidden,
				Hint: "stop all that writes there; then: kubectl dbop cutover " + s.access.Cluster.Name + " --writers-stopped"}
		}
		if err == nil && done.NoBack != "" {
			return noBack(done.NoBack)
		}
		return err
	})
	return out, err
}

// Follow implements engine.Follower.
func (s *Session) Follow(ctx context.Context, from engine.FollowRequest) error {
	return s.order(ctx, "follow "+from.Address, func(ctx context.Context, c *api.Client) error {
		done, err := c.Follow(ctx, api.Follow{Address: from.Address, TLS: from.TLS})
		if err == nil && done.NoBack != "" {
			return noBack(done.NoBack)
		}
		return err
	})
}

// EndBack implements engine.Follower.
func (s *Session) EndBack(ctx context.Context) error {
	return s.order(ctx, "forget the way back", func(ctx context.Context, c *api.Client) error { return c.EndBack(ctx) })
}

func noBack(why string) error {
	return &engine.Refusal{Check: engine.CheckBack, Reason: "there is no way back: " + why,
		Hint: "put that right and ask again, or go on without a way back"}
}

// source is what an agent says of the source in the words of the contract.
func source(s api.Source) *engine.Source {
	return &engine.Source{Address: s.Address, Following: s.Following, Linked: s.Linked,
		Silent: s.Silent.Round(time.Second), Lag: engine.Distance{Amount: s.Lag, Unit: "bytes"},
		Received: s.Received, Problem: s.Problem, Refused: s.Refused,
		Users: s.Users, Left: s.Left}
}
