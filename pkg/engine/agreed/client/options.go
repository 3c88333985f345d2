package client

import (
	"context"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

var _ engine.OptionReader = (*Session)(nil)

// ReadOptions implements engine.OptionReader.
func (s *Session) ReadOptions(ctx context.Context) ([]engine.LiveOption, error) {
	var out []engine.LiveOption
	err := s.order(ctx, "read the options", func(ctx context.Context, c *api.Client) error {
		all, known, err := c.ListSettings(ctx)
		if err != nil {
			return err
		}
		if !known {
			return &engine.Refusal{Check: "agents", Reason: "the agents are of a version that can't list them",
				Hint: fmt.Sprintf("give the members newer ones: kubectl dbop configure %s --helper-image IMAGE",
					s.access.Cluster.Name)}
		}
		for _, one := range all {
			out = append(out, engine.LiveOption{Value: one.Value, Given: one.Given, Overridden: one.Overridden, Kept: one.Kept,
				Option: engine.Option{Name: one.Name, Kind: one.Kind, Allowed: one.Allowed, Default: one.Default,
					Restart: one.AtStart}})
		}
		return nil
	})
	return out, err
}

var _ engine.OverrideTaker = (*Session)(nil)

// TakeBack implements engine.OverrideTaker.
func (s *Session) TakeBack(ctx context.Context, member string) error {
	c, err := s.client(member)
	if err != nil {
		return err
	}
	if err := c.TakeBack(ctx); err != nil {
		return fmt.Errorf("take back what was set on %s alone: %w", member, err)
	}
	return nil
}
