package client

import (
	"context"
	"errors"
	"maps"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/agreed"
)

// Configure implements engine.Configurer.
func (s *Session) Configure(ctx context.Context, spec v1alpha1.DatabaseClusterSpec) error {
	want, err := s.Settings(spec.Config)
	if err != nil {
		return err
	}
	return s.order(ctx, "change the settings", func(ctx context.Context, c *api.Client) error {
		now, err := c.Status(ctx)
		if err != nil || maps.Equal(agreed.Options(now.Settings), agreed.Options(want)) {
			return err
		}
		want.Version, want.Order = now.Settings.Version+1, now.Settings.Order
		want.Timing.Election = now.Settings.Timing.Election // no option
		err = c.Configure(ctx, want)
		if refused, ok := errors.AsType[api.Refused](err); ok {
			return &engine.Refusal{Check: "settings", Reason: refused.Why, Hint: "choose other values with --set"}
		}
		return err
	})
}
