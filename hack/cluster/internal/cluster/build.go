package cluster

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/build"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/release"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

// Build makes sure that the named programs, or all, are in the cache and up
// to date. Only here is it of interest where the sources are. Database servers
// are downloaded meanwhile.
func (c Cluster) Build(ctx context.Context, names []string) error {
	releases, names, all := release.Select(names)
	group, within := errgroup.WithContext(ctx)
	group.Go(func() error { return release.Ensure(within, c.Site, releases, c.Log) })
	if all || len(names) > 0 {
		group.Go(func() error { return c.compile(within, names) })
	}
	return group.Wait()
}

// compile builds what is made of Go modules.
func (c Cluster) compile(ctx context.Context, names []string) error {
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

// prepare builds what a cluster needs. It can do without a release of
// a database that Debian does not give away at the moment.
func (c Cluster) prepare(ctx context.Context) error {
	group, within := errgroup.WithContext(ctx)
	group.Go(func() error { return c.compile(within, nil) })
	group.Go(func() error { c.download(within); return nil })
	return group.Wait()
}

// download makes the releases of databases that are missing, or says which
// are left out, and why.
func (c Cluster) download(ctx context.Context) {
	if err := release.Ensure(ctx, c.Site, release.All(), c.Log); err != nil {
		c.Log.Printf("without this release, until the next `cluster up`: %v", err)
	}
}
