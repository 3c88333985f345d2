package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/api"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/cgroup"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/netns"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/network"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/process"
)

// Started is a node whose processes this driver started.
type Started struct {
	Node
	containerd, kubelet, proxy *process.Running
	// since tells a report of this start from one before a crash.
	since time.Time
}

// Wire makes the node's network namespace and connects it.
func (n Node) Wire() error {
	if err := netns.Create(n.at.Netns(n.Name)); err != nil {
		return err
	}
	return network.Connect(n.at.Netns(n.Name), n.Index)
}

// StartRuntime starts containerd and waits for it. It needs no API server.
func (n Node) StartRuntime(ctx context.Context) (*Started, error) {
	for _, group := range []string{cgroup.Node(n.Name), cgroup.NodeHost(n.Name)} {
		if err := cgroup.Make(group); err != nil {
			return nil, err
		}
	}
	if err := n.configureContainerd(); err != nil {
		return nil, err
	}
	spec, err := n.containerd()
	if err != nil {
		return nil, err
	}
	running, err := process.Start(n.at, spec)
	if err != nil {
		return nil, err
	}
	return &Started{Node: n, containerd: running}, running.Await(ctx, n.listening)
}

// StartAgents starts kubelet and kube-proxy.
func (s *Started) StartAgents() error {
	if err := s.configureKubelet(); err != nil {
		return err
	}
	if err := s.write("kube-proxy.yaml", s.proxyConfig()); err != nil {
		return err
	}
	s.since = time.Now().Truncate(time.Second)
	kubelet, err := process.Start(s.at, s.Node.kubelet())
	if err != nil {
		return err
	}
	proxy, err := process.Start(s.at, s.Node.proxy())
	if err != nil {
		return err
	}
	s.kubelet, s.proxy = kubelet, proxy
	return nil
}

// AwaitReady waits until the API server calls the node ready. A kubelet that ends is started again, once: it does so
// where it reads a mount at its start that containerd makes for a moment ("cannot find filesystem info for device").
func (s *Started) AwaitReady(ctx context.Context, client *api.Client) error {
	err := s.awaitReady(ctx, client)
	select {
	case <-s.kubelet.Ended():
	default:
		return err
	}
	kubelet, again := process.Start(s.at, s.Node.kubelet())
	if again != nil {
		return errors.Join(err, again)
	}
	s.kubelet = kubelet
	return s.awaitReady(ctx, client)
}

func (s *Started) awaitReady(ctx context.Context, client *api.Client) error {
	return s.kubelet.Await(ctx, func(ctx context.Context) error {
		for _, other := range []*process.Running{s.containerd, s.proxy} {
			select {
			case <-other.Ended():
				return other.Failure()
			default:
			}
		}
		ready, err := client.Nodes(ctx)
		if err != nil {
			return err
		}
		if ready[s.Name].Before(s.since) {
			return fmt.Errorf("node %s is not ready: %w", s.Name, errNotReady)
		}
		return nil
	})
}

// errNotReady is what a node is until it is.
var errNotReady = errors.New("the API server has no recent Ready condition that is true")
