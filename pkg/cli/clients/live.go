package clients

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/dial"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/password"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/portforward"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/preflight"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/executor"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/external"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opener"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/runner"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// pollEvery is the pause between two observations of a wait that nothing wakes.
const pollEvery = 250 * time.Millisecond

// live makes everything for a real cluster out of one client configuration.
type live struct {
	Config

	core func() (*typed.CoreV1Client, error)
	// claims are those that the command has open, for itself or for a step.
	claims opener.Claims
}

// Config is what real clients depend on.
type Config struct {
	// Rest reads the client configuration when it is needed.
	Rest func() (*rest.Config, error)
	// Mounted are the repositories that are mounted into the pod that this runs in.
	Mounted map[string]string
	// Tool is the version of this build, and HelperImage the image that belongs to it.
	Tool, HelperImage string
	// FailPoint is nil but in the binary of the tests.
	FailPoint func(when string, step ops.Step)
}

// New makes clients for a real cluster.
func New(c Config) Clients {
	l := &live{Config: c}
	l.core = sync.OnceValues(l.newCore)
	return l
}

func (l *live) client(mode kube.DryRun) (*kube.Client, error) {
	config, err := l.Rest()
	if err != nil {
		return nil, err
	}
	return kube.New(config, kube.Options{UserAgent: config.UserAgent, DryRun: mode})
}

// read calls what only reads, with a client that refuses to write.
func read[T any](l *live, what func(*kube.Client) (T, error)) (T, error) {
	c, err := l.client(kube.DryRunClient)
	if err != nil {
		var none T
		return none, err
	}
	return what(c)
}

// Store implements Clients.
func (l *live) Store(mode kube.DryRun) (store.Store, error) {
	c, err := l.client(mode)
	if err != nil {
		return nil, err
	}
	return store.NewMirrored(c), nil
}

// config is what worlds on this cluster are made of. Dry run is enforced
// here: by the client, and by the sessions that a world opens.
func (l *live) config(o RunnerOptions) (executor.Config, error) {
	c, err := l.client(o.DryRun)
	if err != nil {
		return executor.Config{}, err
	}
	return executor.Config{Client: c, Mounted: l.Mounted, Claims: &l.claims, Store: store.NewMirrored(c),
		Dialer: dial.NewDialer(c, portforward.New(c)), Engine: o.Engine, Wanted: o.Wanted,
		Tool: l.Tool, HelperImage: l.HelperImage, ReadOnly: o.DryRun != kube.DryRunNone}, nil
}

// world is one cluster.
func (l *live) world(o RunnerOptions, namespace, name string) (*executor.Executor, *kube.Client, error) {
	config, err := l.config(o)
	if err != nil {
		return nil, nil, err
	}
	config.Namespace, config.Name = namespace, name
	return executor.New(config), config.Client, nil
}

// Runner implements Clients.
func (l *live) Runner(o RunnerOptions) (*Runner, error) {
	config, err := l.config(o)
	if err != nil {
		return nil, err
	}
	world := func(namespace, cluster string) ops.ClosableCluster {
		own := config
		own.Namespace, own.Name = namespace, cluster
		return executor.New(own)
	}
	run := &runner.Runner{Engine: o.Engine, Store: config.Store, Cluster: world, Lock: lock(config.Client),
		Held: func(ctx context.Context, namespace, cluster string) (lease.Holding, error) {
			return lease.ReadHolding(ctx, config.Client, namespace, cluster, lease.Backup)
		},
		Reporter: o.Reporter, Stop: o.Stop, FailPoint: l.FailPoint, Poll: pollEvery}
	delegating := &runner.DelegatingRunner{CustomResources: store.CustomResources{Client: config.Client},
		Mounted: config.Mounted, Runner: run}
	return &Runner{Cluster: world, Operations: delegating}, nil
}

// lock takes the leases of clusters.
func lock(c *kube.Client) func(context.Context, string, string, lease.Scope, func(string, time.Duration)) (lease.Lease,
	error) {
	return func(ctx context.Context, namespace, cluster string, scope lease.Scope,
		waiting func(string, time.Duration)) (lease.Lease, error) {
		return lease.Acquire(ctx, c, namespace, cluster, scope, lease.Options{Waiting: waiting})
	}
}

// External implements Clients.
func (l *live) External(ctx context.Context, c external.Config) (External, error) {
	var err error
	if c.Client, err = l.client(kube.DryRunClient); err != nil {
		return nil, err
	}
	c.Dialer = dial.NewDialer(c.Client, portforward.New(c.Client))
	o, err := external.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	return o, nil
}

// Repository implements Clients.
func (l *live) Repository(ctx context.Context, namespace string, at repository.Location,
	image string) (repository.Repository, error) {
	if at.Kind == repository.KindDirectory {
		return repository.NewDirectory(at.Path)
	}
	c, err := l.client(kube.DryRunNone)
	if err != nil {
		return nil, err
	}
	repositories := &opener.Repositories{Client: c, Dialer: dial.NewDialer(c, portforward.New(c)), Image: image,
		Mounted: l.Mounted, Claims: &l.claims}
	return repositories.Open(ctx, namespace, at.String())
}

// Verify implements Clients. A verification that was interrupted, or ran out of
// time, leaves no helper pod.
func (l *live) Verify(ctx context.Context, v Verification) (err error) {
	o := RunnerOptions{Engine: v.Engine, Wanted: v.Like}
	world, client, err := l.world(o, v.Like.Namespace, v.Like.Name)
	if err != nil {
		return err
	}
	why := ""
	defer func() {
		if why != "" {
			err = errors.Join(err, world.EndProof(ctx, v.Like, v.Backup))
		}
		err = errors.Join(err, world.Close())
	}()
	for {
		facts, err := observe.Read(ctx, client, v.Like, observe.Rendered{})
		if err != nil {
			return err
		}
		s := ops.State{Now: client.Now(), Cluster: v.Like, Kube: facts}
		err = world.ProveBackup(ctx, s, v.Repository, executor.Proving{Backup: v.Backup, Level: v.Level, By: v.By},
			v.Progress)
		if err == nil || !errors.Is(err, engine.ErrNotReady) {
			why = ""
			return err
		}
		if why != err.Error() {
			why = err.Error()
			v.Waiting(why)
		}
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", why, context.Cause(ctx))
		}
	}
}

// LocalProxy implements Clients.
func (l *live) LocalProxy(ctx context.Context, t *Target, member, user string) (LocalProxy, error) {
	config, err := l.config(RunnerOptions{Engine: t.Engine})
	if err != nil {
		return nil, err
	}
	config.Namespace, config.Name = t.Namespace, t.Cluster.Name
	return executor.OpenLocalProxy(ctx, config, t.Cluster, member, user)
}

// Users implements Clients.
func (l *live) Users(ctx context.Context, t *Target) (_ []engine.User, err error) {
	world, _, err := l.world(RunnerOptions{Engine: t.Engine, DryRun: kube.DryRunClient}, t.Namespace, t.Cluster.Name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = world.Close() }()
	return world.Users(ctx, t.Cluster)
}

// Passwords implements Clients.
func (l *live) Passwords(ctx context.Context, namespace, secret string) (password.Set, error) {
	return read(l, func(c *kube.Client) (password.Set, error) { return password.Get(ctx, c, namespace, secret) })
}

// Holding implements Clients.
func (l *live) Holding(ctx context.Context, namespace, cluster string, scope lease.Scope) (lease.Holding, error) {
	return read(l, func(c *kube.Client) (lease.Holding, error) {
		return lease.ReadHolding(ctx, c, namespace, cluster, scope)
	})
}

// Evidence implements Clients.
func (l *live) Evidence(ctx context.Context, namespace, cluster string) observe.Evidence {
	c, err := l.client(kube.DryRunClient)
	if err != nil {
		return observe.Evidence{Missing: []observe.Gap{{What: "all objects", Err: err}}}
	}
	return observe.CollectEvidence(ctx, c, namespace, cluster)
}

// Kept implements Clients.
func (l *live) Kept(ctx context.Context, namespace, cluster string) (store.Kept, error) {
	return read(l, func(c *kube.Client) (store.Kept, error) { return store.FindKept(ctx, c, namespace, cluster) })
}

// Leftovers implements Clients.
func (l *live) Leftovers(ctx context.Context, namespace string) ([]string, error) {
	return read(l, func(c *kube.Client) ([]string, error) { return observe.Leftovers(ctx, c, namespace) })
}

// Preflight implements Clients.
func (l *live) Preflight(ctx context.Context, namespace, claim string) (preflight.Report, error) {
	return read(l, func(c *kube.Client) (preflight.Report, error) { return preflight.Check(ctx, c, namespace, claim) })
}

// CertificateSecrets implements Clients.
func (l *live) CertificateSecrets(ctx context.Context, namespace string) ([]string, error) {
	return read(l, func(c *kube.Client) ([]string, error) { return pki.CertificateSecrets(ctx, c, namespace) })
}

// ServerVersion implements Clients.
func (l *live) ServerVersion() (*version.Info, error) {
	config, err := l.Rest()
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

// Whoami implements Clients.
func (l *live) Whoami(ctx context.Context) string {
	c, err := l.client(kube.DryRunNone)
	if err != nil {
		return ""
	}
	return c.Whoami(ctx)
}
