package clients

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/runner"
)

// Custom implements Clients.
func (l *live) Custom(ctx context.Context, namespace, name string) (*v1alpha1.DatabaseCluster, bool, error) {
	c, err := l.client(kube.DryRunClient)
	if err != nil {
		return nil, false, err
	}
	custom, err := store.CustomResources{Client: c}.GetCustom(ctx, namespace, name)
	if err != nil {
		return nil, false, err
	}
	alive, err := store.CustomResources{Client: c}.OperatorAlive(ctx, namespace, name)
	return custom, alive, err
}

// Adopt implements Clients.
func (l *live) Adopt(ctx context.Context, t *Target) error {
	r, client, err := l.direct(t.Engine)
	if err != nil {
		return err
	}
	return r.Adopt(ctx, store.CustomResources{Client: client}, t.Namespace, t.Cluster.Name)
}

// Release implements Clients.
func (l *live) Release(ctx context.Context, t *Target) error {
	r, client, err := l.direct(t.Engine)
	if err != nil {
		return err
	}
	return r.Release(ctx, store.CustomResources{Client: client}, t.Namespace, t.Cluster.Name)
}

// direct works on the record and the custom resource alone, so that what is
// written to one is not mirrored to the other.
func (l *live) direct(e engine.Engine) (*runner.Runner, *kube.Client, error) {
	c, err := l.client(kube.DryRunNone)
	if err != nil {
		return nil, nil, err
	}
	return &runner.Runner{Engine: e, Store: store.NewConfigMaps(c), Lock: lock(c), Reporter: ops.Silent{}}, c, nil
}

// Manifest implements Clients.
func (l *live) Manifest(ctx context.Context, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return read(l, func(c *kube.Client) (*unstructured.Unstructured, error) { return c.GetManifest(ctx, u) })
}

// ApplyManifest implements Clients.
func (l *live) ApplyManifest(ctx context.Context, mode kube.DryRun, u *unstructured.Unstructured) error {
	c, err := l.client(mode)
	if err != nil {
		return err
	}
	return c.ApplyManifest(ctx, u)
}

// DeleteManifest implements Clients.
func (l *live) DeleteManifest(ctx context.Context, mode kube.DryRun, u *unstructured.Unstructured) error {
	c, err := l.client(mode)
	if err != nil {
		return err
	}
	return c.DeleteManifest(ctx, u)
}

// Rollout implements Clients.
func (l *live) Rollout(ctx context.Context, namespace, name string) (ready, wanted int64, image string, err error) {
	c, err := l.client(kube.DryRunClient)
	if err != nil {
		return 0, 0, "", err
	}
	return c.Rollout(ctx, namespace, name)
}
