package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/archive"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/node"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/release"
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
	if err := errors.Join(group.Wait(), c.remember(files)); err != nil {
		return err
	}
	c.Log.Printf("%d image archives on %d nodes", len(files), loaded)
	return nil
}

// supply imports those standard images that a node lacks, or has in an
// earlier build.
func (c Cluster) supply(ctx context.Context, nodes []node.Node) error {
	files, err := c.archives()
	if err != nil {
		return err
	}
	group, within := errgroup.WithContext(ctx)
	for _, to := range nodes {
		group.Go(func() error {
			for _, file := range files {
				if to.Has(file) {
					continue
				}
				if err := to.Load(within, file); err != nil {
					return err
				}
				c.Log.Printf("node %s has %s", to.Name, filepath.Base(file))
			}
			return nil
		})
	}
	return group.Wait()
}

// loadedFile lists the archives that were loaded, so that a node that joins
// later gets them too.
func (c Cluster) loadedFile() string { return filepath.Join(c.State, "loaded") }

// remember adds archives to the list.
func (c Cluster) remember(files []string) error {
	known, err := c.loaded()
	if err != nil {
		return err
	}
	for _, file := range files {
		path, err := filepath.Abs(file)
		if err != nil {
			return fmt.Errorf("find %s: %w", file, err)
		}
		if !slices.Contains(known, path) {
			known = append(known, path)
		}
	}
	if err := os.WriteFile(c.loadedFile(), []byte(strings.Join(known, "\n")), 0o644); err != nil {
		return fmt.Errorf("remember which images were loaded: %w", err)
	}
	return nil
}

// loaded lists the archives that were loaded and still exist.
func (c Cluster) loaded() ([]string, error) {
	content, err := os.ReadFile(c.loadedFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read which images were loaded: %w", err)
	}
	var files []string
	for file := range strings.Lines(string(content)) {
		file = strings.TrimSpace(file)
		if _, err := os.Stat(file); err == nil {
			files = append(files, file)
		}
	}
	return files, nil
}

// Images builds the standard images and loads them.
func (c Cluster) Images(ctx context.Context) error {
	if err := c.Build(ctx, []string{"pause", "etcd", release.Postgres, release.Valkey, release.Redis}); err != nil {
		return err
	}
	files, err := c.archives()
	if err != nil {
		return err
	}
	return c.Load(ctx, files...)
}

// PluginImage packs static programs as an image that starts the first one,
// and loads it.
func (c Cluster) PluginImage(ctx context.Context, name string, programs []string) error {
	paths := make([]string, len(programs))
	for i, program := range programs {
		var err error
		if paths[i], err = filepath.Abs(program); err != nil {
			return fmt.Errorf("find %s: %w", program, err)
		}
	}
	image := archive.Plugin(name, paths...)
	if err := image.Write(image.File(c.Site)); err != nil {
		return err
	}
	c.Log.Printf("image %s written", name)
	return c.Load(ctx, image.File(c.Site))
}
