package cluster

import (
	"context"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/api"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/network"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/node"
)

// AddNode joins a new node, or brings one back that crashed.
func (c Cluster) AddNode(ctx context.Context, name string) error {
	client, err := c.running(ctx)
	if err != nil {
		return err
	}
	present, err := node.Find(c.Site, name)
	if err != nil {
		return c.join(ctx, client, name)
	}
	if present.Alive() {
		c.Log.Printf("node %s runs already", name)
		return nil
	}
	return c.revive(ctx, client, present)
}

// CutNode takes the node off the network.
func (c Cluster) CutNode(_ context.Context, name string) error {
	found, err := node.Find(c.Site, name)
	if err != nil {
		return err
	}
	if err := network.Cut(found.Index); err != nil {
		return err
	}
	c.Log.Printf("node %s is cut off", name)
	return nil
}

// HealNode undoes a cut, and a crash too.
func (c Cluster) HealNode(ctx context.Context, name string) error {
	found, err := node.Find(c.Site, name)
	if err != nil {
		return err
	}
	if !found.Alive() {
		return c.AddNode(ctx, name)
	}
	if err := network.Reconnect(found.Index); err != nil {
		return err
	}
	c.Log.Printf("node %s is connected", name)
	return nil
}

// CrashNode takes the node's power away.
func (c Cluster) CrashNode(ctx context.Context, name string) error {
	found, err := node.Find(c.Site, name)
	if err != nil {
		return err
	}
	if err := found.Crash(ctx); err != nil {
		return err
	}
	c.Log.Printf("node %s crashed", name)
	return nil
}

// RemoveNode takes the node away for good. Its volumes stay: they are for
// no matter who deletes their claims.
func (c Cluster) RemoveNode(ctx context.Context, name string) error {
	client, err := c.running(ctx)
	if err != nil {
		return err
	}
	found, err := node.Find(c.Site, name)
	if err != nil {
		return err
	}
	if err := found.Remove(ctx); err != nil {
		return err
	}
	if err := client.DeleteNode(ctx, name); err != nil {
		return fmt.Errorf("delete node %s from the API: %w", name, err)
	}
	c.Log.Printf("node %s is removed", name)
	return nil
}

// join makes a new node of a running cluster.
func (c Cluster) join(ctx context.Context, client *api.Client, name string) error {
	images, err := c.archives()
	if err != nil {
		return err
	}
	loaded, err := c.loaded()
	if err != nil {
		return err
	}
	made, err := node.New(c.Site, name)
	if err != nil {
		return err
	}
	return c.boot(ctx, client, made, append(images, loaded...))
}

// revive starts a crashed node as a machine starts after a power loss: with
// its disk, and so its images, but without anything that was in memory.
func (c Cluster) revive(ctx context.Context, client *api.Client, dead node.Node) error {
	if err := dead.Reset(ctx); err != nil {
		return err
	}
	return c.boot(ctx, client, dead, nil)
}

// boot wires and starts a node while the API server runs.
func (c Cluster) boot(ctx context.Context, client *api.Client, n node.Node, images []string) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if err := n.Wire(); err != nil {
		return err
	}
	served := make(chan struct{})
	close(served)
	if err := c.start(ctx, client, n, images, served); err != nil {
		return fmt.Errorf("start node %s: %w", n.Name, err)
	}
	return nil
}
