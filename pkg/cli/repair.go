package cli

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

func newRepair(f *Factory, m mode) *cobra.Command {
	return newSimple(f, m, simple{
		verb: v1alpha1.VerbRepair, verbed: "repaired", downtime: true, longer: true,
		use: "repair [NAME]", short: "Put back objects that were changed or deleted",
		long: `Put back the objects of a cluster that are not as this tool made them: services, the disruption budget,
StatefulSets, labels, and certificates that the cluster's authority can sign again. 'kubectl dbop diagnose'
lists what differs, and 'kubectl dbop plan repair' the steps. Members whose pod was made from a changed
template restart one by one afterwards.

A record that is missing or damaged (configmap NAME.dbop) is written again from its copy on the volume claims, while the
members run on. After the loss of the certificate authority the members change over to a new one, one by one.
Where only the volumes are left, the same members start on them again. No data is touched.`,
		example: `  # Put back what differs of my-db
  kubectl dbop repair my-db`})
}

// errNoObjects: there is nothing of a cluster at all.
var errNoObjects = errors.New("no object of the cluster exists")

// missing says what to do about a cluster whose record is not there;
// errNoObjects if there is nothing of it at all. Who may not look is told no
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
// are objects and no record; nil if there are none, or if nobody may look.
func (f *Factory) missingHere(ctx context.Context, namespace string) error {
	names, err := f.Clients.Leftovers(ctx, namespace)
	if err != nil {
		names = nil // who may not look is told of the clusters alone
	}
	var all []error
	for _, name := range names {
		if err := f.missing(ctx, namespace, name); !errors.Is(err, errNoObjects) {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}

// lost is the cluster whose record a repair writes again; the given error if
// that can't be done.
func (f *Factory) lost(ctx context.Context, args []string, why error) (*target, error) {
	failed, ok := errors.AsType[*ops.Error](why)
	if len(args) == 0 || !ok || !slices.Contains([]string{"record-missing", "record-damaged", checkVolumesKept}, failed.Check) {
		return nil, why
	}
	t := &target{lost: true}
	var err error
	if t.namespace, t.store, err = f.here(); err != nil {
		return nil, err
	}
	k, err := f.Clients.Kept(ctx, t.namespace, bareName(args[0]))
	if err != nil {
		return nil, err
	}
	if t.cluster = k.Record; t.cluster == nil {
		return nil, why
	}
	t.engine, err = f.engineNamed(t.cluster.Spec.Engine)
	return t, err
}
