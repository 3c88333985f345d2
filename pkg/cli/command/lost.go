package command

import (
	"context"
	"errors"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clients"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// errNoObjects: there is nothing of a cluster at all.
var errNoObjects = errors.New("no object of the cluster exists")

// missing says what to do about a cluster whose record is not there;
// errNoObjects if there is nothing of it at all. Without the right to read it is told no
// more than that there is no record.
func (f *Factory) missing(ctx context.Context, namespace, cluster string) error {
	k, err := f.Clients.Kept(ctx, namespace, cluster)
	if _, ok := errors.AsType[*kube.ForbiddenError](err); ok {
		return errNoObjects
	}
	if err != nil {
		return err
	}
	if missing := planner.Missing(namespace, cluster, k); missing != nil {
		return missing
	}
	return errNoObjects
}

// missingHere says what to do about the clusters of a namespace of which there
// are objects and no record; nil if there are none, or if the right to read is missing.
func (f *Factory) missingHere(ctx context.Context, namespace string) error {
	names, err := f.Clients.Leftovers(ctx, namespace)
	if err != nil {
		names = nil // without the right only the clusters are told
	}
	var all []error
	for _, name := range names {
		if err := f.missing(ctx, namespace, name); !errors.Is(err, errNoObjects) {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}

// Lost is the cluster whose record a repair writes again; the given error if
// that can't be done.
func (f *Factory) Lost(ctx context.Context, args []string, why error) (*clients.Target, error) {
	failed, ok := errors.AsType[*ops.Error](why)
	if len(args) == 0 || !ok ||
		!slices.Contains([]string{"record-missing", "record-damaged", exit.CheckVolumesKept}, failed.Check) {
		return nil, why
	}
	t := &clients.Target{Lost: true}
	var err error
	if t.Namespace, t.Store, err = f.Here(); err != nil {
		return nil, err
	}
	k, err := f.Clients.Kept(ctx, t.Namespace, BareName(args[0]))
	if err != nil {
		return nil, err
	}
	if t.Cluster = k.Record; t.Cluster == nil {
		return nil, why
	}
	t.Engine, err = f.EngineNamed(t.Cluster.Spec.Engine)
	return t, err
}
