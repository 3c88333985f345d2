package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/api"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/control"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/machine"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/network"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/node"
)

// startLimit is how long a component may take; each takes seconds unless
// something is wrong or the machine is very busy.
const startLimit = 3 * time.Minute

// Up makes sure that there is a cluster of at least that many nodes. One that
// runs is kept. One that does not, because its processes were killed or the
// machine was restarted, is replaced by a new one.
func (c Cluster) Up(ctx context.Context, nodes int) error {
	client, err := c.running(ctx)
	if err == nil {
		c.Log.Printf("the cluster is up already")
		return c.complete(ctx, client, nodes)
	}
	if _, statErr := os.Stat(c.State); !errors.Is(statErr, fs.ErrNotExist) {
		c.Log.Printf("what is at %s does not run, starting afresh: %v", c.State, err)
	}
	prepare, within := errgroup.WithContext(ctx)
	prepare.Go(func() error { return machine.Install(within, c.Log) })
	prepare.Go(func() error { return c.prepare(within) })
	if err := prepare.Wait(); err != nil {
		return err
	}
	images, err := c.archives()
	if err != nil {
		return err
	}
	if err := c.clean(ctx); err != nil {
		return fmt.Errorf("clean up after an earlier cluster: %w", err)
	}
	return c.fresh(ctx, nodes, images)
}

// fresh starts a new cluster. Containers can be prepared for while the API
// server starts, so both happen at once.
func (c Cluster) fresh(ctx context.Context, count int, images []string) error {
	limited, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if err := c.own(); err != nil {
		return err
	}
	if err := control.Prepare(c.Site); err != nil {
		return err
	}
	if err := network.CreateBridge(); err != nil {
		return err
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	plane, err := control.Start(c.Site)
	if err != nil {
		return err
	}
	var nodes []node.Node
	for number := 1; number <= count; number++ {
		made, err := node.New(c.Site, fmt.Sprintf("node-%d", number))
		if err != nil {
			return err
		}
		if err := made.Wire(); err != nil {
			return err
		}
		nodes = append(nodes, made)
	}
	served := make(chan struct{})
	group, within := errgroup.WithContext(limited)
	group.Go(func() error {
		if err := plane.AwaitAPI(within, client); err != nil {
			return err
		}
		close(served)
		c.Log.Printf("the API server is ready")
		if err := plane.StartRest(within); err != nil {
			return err
		}
		if err := plane.AwaitDNS(within); err != nil {
			return err
		}
		c.Log.Printf("DNS answers")
		return awaitAccount(within, client)
	})
	for _, starting := range nodes {
		group.Go(func() error { return c.start(within, client, starting, images, served) })
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("start the cluster: %w", err)
	}
	return plane.Check()
}

// start brings one node up: its containers' runtime and images at once, its
// agents as soon as there is somebody to report to.
func (c Cluster) start(ctx context.Context, client *api.Client, n node.Node, images []string, served <-chan struct{}) error {
	started, err := n.StartRuntime(ctx)
	if err != nil {
		return err
	}
	if len(images) > 0 {
		for _, image := range images {
			if err := n.Load(ctx, image); err != nil {
				return err
			}
		}
		c.Log.Printf("node %s has its %d images", n.Name, len(images))
	}
	select {
	case <-served:
	case <-ctx.Done():
		return fmt.Errorf("node %s waited for the API server: %w", n.Name, context.Cause(ctx))
	}
	if err := started.StartAgents(); err != nil {
		return err
	}
	if err := started.AwaitReady(ctx, client); err != nil {
		return err
	}
	c.Log.Printf("node %s is ready", n.Name)
	return nil
}

// awaitAccount waits for the service account without which the API server
// refuses the first pod.
func awaitAccount(ctx context.Context, client *api.Client) error {
	for {
		err := client.Exists(ctx, "/api/v1/namespaces/default/serviceaccounts/default")
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the controller-manager to make service accounts: %w", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// complete brings the nodes of a running cluster up to count.
func (c Cluster) complete(ctx context.Context, client *api.Client, count int) error {
	nodes, err := node.List(c.Site)
	if err != nil {
		return err
	}
	for _, present := range nodes {
		if !present.Alive() {
			if err := c.revive(ctx, client, present); err != nil {
				return err
			}
		}
	}
	c.download(ctx)
	for number := 1; len(nodes) < count && number <= count; number++ {
		name := fmt.Sprintf("node-%d", number)
		if _, err := node.Find(c.Site, name); err == nil {
			continue
		}
		if err := c.join(ctx, client, name); err != nil {
			return err
		}
		if nodes, err = node.List(c.Site); err != nil {
			return err
		}
	}
	return c.supply(ctx, nodes)
}
