package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

func newDelete(f *Factory, m mode) *cobra.Command {
	c := newChange(f, m)
	var repo string
	var purge, skipBackup bool
	cmd := &cobra.Command{
		Use:   "delete NAME",
		Short: "Delete a cluster",
		Long: `Delete a cluster. A last backup is taken and the volumes are kept, unless told otherwise. It works on a
half-made cluster too, and ends an operation that is in flight.`,
		Example: `  # Delete my-db, keep its volumes, take a last backup
  kubectl dbop delete my-db

  # Delete my-db and its volumes without asking
  kubectl dbop delete my-db --purge --yes`,
		Args:              arguments(1, 1, "the NAME of the cluster"),
		ValidArgsFunction: completeClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			args = []string{bareName(args[0])}
			if err := c.check(); err != nil {
				return err
			}
			t, err := deletionTarget(cmd.Context(), f, args)
			if err != nil {
				return err
			}
			spec := f.operation(cmd.Context(), v1alpha1.VerbDelete, args[0])
			spec.Purge = purge
			spec.Waive = waived(map[string]bool{"backup": skipBackup})
			if err := f.backupTo(&spec, repo, t.cluster); err != nil {
				return err
			}
			in := intent{namespace: t.namespace, engine: t.engine, request: planner.Request{Operation: spec}, subject: t.subject(), verbed: "deleted",
				ask: func(p *planner.Prepared) (question, error) { return deletionQuestion(args[0], spec, p), nil }}
			in.settled = func(in *intent, op *v1alpha1.Operation) {
				if purge || len(op.Spec.Unused) > 0 {
					return
				}
				in.next = displayName + " create " + t.cluster.Name + " --from-volumes starts its members again on the volumes that are kept"
			}
			return c.run(cmd.Context(), in)
		},
	}
	c.addTo(cmd, longTimeout, true)
	addRepositoryFlag(cmd, &repo, "the last backup")
	cmd.Flags().BoolVar(&purge, "purge", false, "Drop the volumes too.")
	cmd.Flags().BoolVar(&skipBackup, "skip-backup", false, "Don't take a last backup.")
	return cmd
}

// deletionTarget finds the cluster, or, where a deletion died after dropping
// it, what its record says of it.
func deletionTarget(ctx context.Context, f *Factory, args []string) (*target, error) {
	t, err := f.target(ctx, args)
	if err == nil || ops.KindOf(err) != ops.Failed || t != nil {
		return t, err
	}
	namespace, _ := f.namespace()
	store, storeErr := f.Clients.Store(kube.DryRunClient)
	if storeErr != nil {
		return nil, err
	}
	op, opErr := store.ActiveOperation(ctx, namespace, args[0])
	if opErr != nil || op == nil || op.Spec.Verb != v1alpha1.VerbDelete || len(f.Engines) == 0 {
		return nil, err
	}
	// Only the record is left to close, which any engine can do.
	e := f.Engines[0]
	if named, err := f.engineNamed(op.Labels[v1alpha1.LabelEngine]); err == nil {
		e = named
	}
	gone := &v1alpha1.DatabaseCluster{}
	gone.Name, gone.Namespace, gone.Spec.Engine = args[0], namespace, e.Name()
	return &target{namespace: namespace, cluster: gone, engine: e, store: store}, nil
}

// deletionQuestion tells what will be gone for good.
func deletionQuestion(name string, spec v1alpha1.OperationSpec, p *planner.Prepared) question {
	q := question{what: "Delete cluster " + name, cluster: p.State.Cluster,
		lost: []string{"the running database, and its passwords and certificates"}, kept: []string{"its volumes"}}
	if len(p.Request.Operation.Unused) > 0 {
		q.lost, q.kept = []string{"the cluster; no member of it ever ran, and its volumes hold nothing"}, nil
	}
	if spec.Purge {
		q.lost, q.kept, q.typed = []string{"the running database and all its volumes, for good"}, nil, name
	}
	if len(spec.Waive) > 0 {
		q.lost = append(q.lost, "everything since the newest backup: no last one is taken")
	} else {
		q.kept = append(q.kept, "a last backup, in "+spec.Repository)
	}
	return q
}
