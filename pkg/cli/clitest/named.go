package clitest

import (
	"context"
	"fmt"
	"maps"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clients"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/preflight"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// Named is a namespace's repositories in memory, over a store that answers Facts.
type Named struct {
	Descriptions map[string]bucket.Description
	Kept         map[string]bucket.Secrets
	// Claims are those of the namespace.
	Claims   map[string]preflight.Mountable
	Facts    []store.Fact
	Drilled  bucket.Drill
	ProbeErr error
	// Slow has a deletion wait until its time is over.
	Slow bool
	// Retention is whether the last Probe was to prove that.
	Retention bool

	mode kube.DryRun
}

// Named implements clients.Clients.
func (c *Fake) Named(mode kube.DryRun) (clients.Named, error) {
	c.Repositories.mode = mode
	return &c.Repositories, nil
}

func (n *Named) List(context.Context, string) ([]bucket.Description, error) {
	var out []bucket.Description
	for _, d := range n.Descriptions {
		out = append(out, d)
	}
	return out, nil
}

func (n *Named) Get(_ context.Context, _, name string) (bucket.Description, error) {
	d, ok := n.Descriptions[name]
	if !ok {
		return d, fmt.Errorf("get configmap %s: %w", name, kube.ErrNotFound)
	}
	return d, nil
}

func (n *Named) Secrets(_ context.Context, _ string, d bucket.Description) (bucket.Secrets, error) {
	out := bucket.Secrets{}
	maps.Copy(out, n.Kept[d.Name])
	return out, nil
}

func (n *Named) Save(_ context.Context, _ string, d bucket.Description, s bucket.Secrets) error {
	if n.mode != kube.DryRunNone {
		return kube.ErrDryRun
	}
	if n.Descriptions == nil {
		n.Descriptions, n.Kept = map[string]bucket.Description{}, map[string]bucket.Secrets{}
	}
	n.Descriptions[d.Name], n.Kept[d.Name] = d, s
	return nil
}

func (n *Named) Delete(ctx context.Context, _, name string) error {
	if n.Slow {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	if n.mode != kube.DryRunNone {
		return kube.ErrDryRun
	}
	delete(n.Descriptions, name)
	delete(n.Kept, name)
	return nil
}

func (n *Named) Mountable(_ context.Context, namespace, claim string) (preflight.Mountable, error) {
	m, ok := n.Claims[claim]
	if !ok {
		return m, fmt.Errorf("get persistentvolumeclaim %s/%s: %w", namespace, claim, kube.ErrNotFound)
	}
	return m, nil
}

func (n *Named) Probe(_ context.Context, _ string, _ bucket.Description, _ bucket.Secrets, retention bool) (
	[]store.Fact, error) {
	n.Retention = retention
	return n.Facts, n.ProbeErr
}

// Drill answers what the test says.
func (n *Named) Drill(context.Context, string, bucket.Description, bucket.Secrets, string) (bucket.Drill, error) {
	return n.Drilled, nil
}
