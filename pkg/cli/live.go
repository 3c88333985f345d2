package cli

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/portforward"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/executor"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/external"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/runner"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// pollEvery is the pause between two looks at a wait that nothing wakes.
const pollEvery = 250 * time.Millisecond

// live makes everything for a real cluster out of one client configuration.
type live struct {
	f      *Factory
	config func() (*rest.Config, error)
}

func (l *live) client(mode kube.DryRun) (*kube.Client, error) {
	config, err := l.config()
	if err != nil {
		return nil, err
	}
	return kube.New(config, kube.Options{UserAgent: config.UserAgent, DryRun: mode})
}

func (l *live) store(mode kube.DryRun) (kube.Store, error) {
	c, err := l.client(mode)
	if err != nil {
		return nil, err
	}
	return kube.NewMirroredStore(c), nil
}

func (l *live) holding(ctx context.Context, namespace, cluster string) (kube.Holding, error) {
	c, err := l.client(kube.DryRunClient)
	if err != nil {
		return kube.Holding{}, err
	}
	return kube.HoldingOf(ctx, c, namespace, cluster)
}

// liveConfig is what worlds on this cluster are made of. Dry run is enforced
// here: by the client, and by the sessions that a world opens.
func (l *live) liveConfig(o runnerOptions) (executor.LiveConfig, error) {
	c, err := l.client(o.dryRun)
	if err != nil {
		return executor.LiveConfig{}, err
	}
	return executor.LiveConfig{Client: c, Mounted: l.f.mounted(), Store: kube.NewMirroredStore(c), Dialer: kube.NewDialer(c, portforward.New(c)), Engine: o.engine, Wanted: o.wanted,
		Tool: l.f.Build.Version, HelperImage: l.f.helperImage("", nil), ReadOnly: o.dryRun != kube.DryRunNone}, nil
}

// runner connects package ops to the cluster.
func (l *live) runner(o runnerOptions) (*driver, error) {
	config, err := l.liveConfig(o)
	if err != nil {
		return nil, err
	}
	world := func(namespace, cluster string) ops.ClosableWorld {
		own := config
		own.Namespace, own.Name = namespace, cluster
		return executor.NewLive(own)
	}
	return &driver{world: world, operations: &runner.Beside{Customs: config.Client, Mounted: config.Mounted, Runner: &runner.Runner{Engine: o.engine, Store: config.Store, World: world, Lock: lock(config.Client),
		Reporter: o.reporter, Stop: o.stop, FailPoint: l.failPoint(), Poll: pollEvery}}}, nil
}

// lock takes the leases of clusters.
func lock(c *kube.Client) func(context.Context, string, string, func(string, time.Duration)) (kube.Lease, error) {
	return func(ctx context.Context, namespace, cluster string, waiting func(string, time.Duration)) (kube.Lease, error) {
		return kube.Acquire(ctx, c, namespace, cluster, kube.LeaseOptions{Waiting: waiting})
	}
}

func (l *live) repository(ctx context.Context, namespace string, at repository.Location,
	image string) (repository.Repository, error) {
	if at.Kind == repository.KindDirectory {
		return repository.NewDirectory(at.Path)
	}
	c, err := l.client(kube.DryRunNone)
	if err != nil {
		return nil, err
	}
	repositories := &executor.Repositories{Client: c, Dialer: kube.NewDialer(c, portforward.New(c)), Image: image, Mounted: l.f.mounted()}
	return repositories.Open(ctx, namespace, at.String())
}

func (l *live) serverVersion() (*version.Info, error) {
	config, err := l.config()
	if err != nil {
		return nil, err
	}
	c, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	v, err := c.ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("ask the server for its version: %w", err)
	}
	return v, nil
}

// whoami is for the record; an answer that does not come is none.
func (l *live) whoami(ctx context.Context) string {
	c, err := l.client(kube.DryRunNone)
	if err != nil {
		return ""
	}
	return c.Whoami(ctx)
}

func (l *live) preflight(ctx context.Context, namespace, claim string) (kube.Preflight, error) {
	c, err := l.client(kube.DryRunClient)
	if err != nil {
		return kube.Preflight{}, err
	}
	return c.Preflight(ctx, namespace, claim)
}

// outsider speaks to a database that something else made. The client refuses
// to write, as it does under a dry run.
func (l *live) outsider(ctx context.Context, c external.OutsiderConfig) (outsider, error) {
	var err error
	if c.Client, err = l.client(kube.DryRunClient); err != nil {
		return nil, err
	}
	c.Dialer = kube.NewDialer(c.Client, portforward.New(c.Client))
	o, err := external.OpenOutsider(ctx, c)
	if err != nil {
		return nil, err
	}
	return o, nil
}

func (l *live) kept(ctx context.Context, namespace, cluster string) (kube.Kept, error) {
	c, err := l.client(kube.DryRunClient)
	if err != nil {
		return kube.Kept{}, err
	}
	return c.Kept(ctx, namespace, cluster)
}

func (l *live) leftovers(ctx context.Context, namespace string) ([]string, error) {
	c, err := l.client(kube.DryRunClient)
	if err != nil {
		return nil, err
	}
	return c.Leftovers(ctx, namespace)
}

func (l *live) certificates(ctx context.Context, namespace string) ([]string, error) {
	c, err := l.client(kube.DryRunClient)
	if err != nil {
		return nil, err
	}
	return c.CertificateSecrets(ctx, namespace)
}

func (l *live) evidence(ctx context.Context, namespace, cluster string) kube.Evidence {
	c, err := l.client(kube.DryRunClient)
	if err != nil {
		return kube.Evidence{Missing: []kube.Gap{{What: "all objects", Err: err}}}
	}
	return c.Evidence(ctx, namespace, cluster)
}
