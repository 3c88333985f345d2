package cluster

import (
	"context"
	"fmt"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/archive"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/build"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/node"
)

// Load imports archives into every node that runs.
func (c Cluster) Load(ctx context.Context, files ...string) error {
	nodes, err := node.List(c.Site)
	if err != nil {
		return err
	}
	group, within := errgroup.WithContext(ctx)
	loaded := 0
	for _, to := range nodes {
		if !to.Alive() {
			c.Log.Printf("node %s does not run and is left out", to.Name)
			continue
		}
		loaded++
		group.Go(func() error {
			for _, file := range files {
				if err := to.Load(within, file); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if loaded == 0 {
		return fmt.Errorf("no node runs: %w", errDown)
	}
	if err := group.Wait(); err != nil {
		return err
	}
	c.Log.Printf("%d image archives on %d nodes", len(files), loaded)
	return nil
}

// Images builds the standard images and loads them.
func (c Cluster) Images(ctx context.Context) error {
	targets, err := build.Select([]string{"pause", "etcd"})
	if err != nil {
		return err
	}
	if err := build.Ensure(ctx, c.Site, targets, c.Log); err != nil {
		return err
	}
	files, err := c.archives()
	if err != nil {
		return err
	}
	return c.Load(ctx, files...)
}

// PluginImage packs a static program as an image and loads it.
func (c Cluster) PluginImage(ctx context.Context, name, binary string) error {
	path, err := filepath.Abs(binary)
	if err != nil {
		return fmt.Errorf("find %s: %w", binary, err)
	}
	image := archive.Plugin(name, path)
	if err := image.Write(image.File(c.Site)); err != nil {
		return err
	}
	c.Log.Printf("image %s written", name)
	return c.Load(ctx, image.File(c.Site))
}
