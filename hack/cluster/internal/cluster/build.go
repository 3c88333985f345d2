package cluster

import (
	"context"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/build"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

// Build makes sure that the named programs, or all, are in the cache and up
// to date. Only here is it of interest where the sources are.
func (c Cluster) Build(ctx context.Context, names []string) error {
	targets, err := build.Select(names)
	if err != nil {
		return err
	}
	if c.Source == "" {
		if c.Source, err = site.FindSource("."); err != nil {
			return err
		}
	}
	return build.Ensure(ctx, c.Site, targets, c.Log)
}
