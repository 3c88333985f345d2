package command

import (
	"context"
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clients"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/executor"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/runner"
)

// ObserveOnce observes a cluster once, and writes nothing. The scope says what is
// observed beyond the members, such as Everything; nil for nothing.
func (f *Factory) ObserveOnce(ctx context.Context, t *clients.Target, timeout time.Duration,
	scope func(ops.Cluster)) (ops.State, error) {
	r, err := f.Clients.Runner(clients.RunnerOptions{Engine: t.Engine, Reporter: ops.Silent{}, DryRun: kube.DryRunClient})
	if err != nil {
		return ops.State{}, err
	}
	world := r.Cluster(t.Namespace, t.Cluster.Name)
	defer func() { _ = world.Close() }()
	if scope != nil {
		scope(world)
	}
	return f.Observe(ctx, t, world, timeout)
}

// ReadOptions asks a member which options the database has, where only the database knows.
func (f *Factory) ReadOptions(ctx context.Context, t *clients.Target, timeout time.Duration) ([]engine.LiveOption,
	error) {
	r, err := f.Clients.Runner(clients.RunnerOptions{Engine: t.Engine, Reporter: ops.Silent{}, DryRun: kube.DryRunClient})
	if err != nil {
		return nil, err
	}
	world := r.Cluster(t.Namespace, t.Cluster.Name)
	defer func() { _ = world.Close() }()
	reader, ok := world.(ops.OptionReader)
	if !ok {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return reader.ReadOptions(ctx)
}

// ObserveWithin bounds one observation for a bundle.
const ObserveWithin = 30 * time.Second

// Observe observes a cluster that must exist, and what is in flight on it.
func (f *Factory) Observe(ctx context.Context, t *clients.Target, world ops.Cluster, timeout time.Duration) (ops.State,
	error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	s, err := world.Observe(ctx)
	if err != nil {
		return ops.State{}, fmt.Errorf("observe cluster %s: %w", t.Cluster.Name, err)
	}
	if s.Cluster == nil {
		return ops.State{}, &ops.Error{Kind: ops.Failed, Message: "cluster " + t.Cluster.Name + " is gone"}
	}
	flight, err := runner.FlightOf(ctx, t.Store, t.Namespace, t.Cluster.Name)
	if err != nil {
		return s, err
	}
	s.Operation, s.Backup = flight.Ordinary, flight.Backup
	// Without the right to see the lease, who works on the cluster is not told.
	if h, err := f.Clients.Holding(ctx, t.Namespace, t.Cluster.Name, runner.ScopeOf(flight.First())); err == nil {
		s.Holding = &h
	}
	return s, nil
}

// PhaseStopped is shown of an operation whose process is gone.
const PhaseStopped = "Stopped"

// Everything is the scope of an examination: what takes scheduled backups, and
// whether the database takes the passwords, too.
func Everything(world ops.Cluster) {
	executor.ReadAll(world)
	executor.TryPasswords(world)
}
