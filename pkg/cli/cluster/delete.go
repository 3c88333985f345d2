package cluster

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// NewDelete makes the command delete.
func NewDelete(f *command.Factory) *cobra.Command {
	c := command.NewChange(f)
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
		Args:              command.Arguments(1, 1, "the NAME of the cluster"),
		ValidArgsFunction: command.CompleteClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			args = []string{command.BareName(args[0])}
			t, err := command.DeletionTarget(cmd.Context(), f, args)
			if err != nil {
				return err
			}
			spec := f.Operation(cmd.Context(), v1alpha1.VerbDelete, args[0])
			spec.Purge = purge
			spec.Waive = command.Waived(map[string]bool{"backup": skipBackup})
			if err := f.BackupTo(&spec, repo, t.Cluster); err != nil {
				return err
			}
			in := command.Intent{Namespace: t.Namespace, Engine: t.Engine, Request: planner.Request{Operation: spec},
				Subject: t.Subject(), Verbed: "deleted",
				Ask: func(p *planner.Prepared) (command.Question, error) { return deletionQuestion(args[0], spec, p), nil }}
			in.Settled = func(in *command.Intent, op *v1alpha1.Operation) {
				if purge || len(op.Spec.Unused) > 0 {
					return
				}
				in.Next = command.DisplayName + " create " + t.Cluster.Name +
					" --from-volumes starts its members again on the volumes that are kept"
			}
			return c.Run(cmd.Context(), in)
		},
	}
	c.AddTo(cmd, command.LongTimeout, true)
	command.AddRepositoryFlag(cmd, &repo, "the last backup")
	cmd.Flags().BoolVar(&purge, "purge", false, "Drop the volumes too.")
	cmd.Flags().BoolVar(&skipBackup, "skip-backup", false, "Don't take a last backup.")
	return cmd
}

// former are the volumes from before a restore in place, which no deletion takes.
func former(s ops.State) []string {
	var out []string
	for _, m := range s.Kube.Members {
		if m.Volume.Exists && !s.Ours(m) {
			out = append(out, "persistentvolumeclaim/"+v1alpha1.VolumeName(m.Name)+", from before a restore in place")
		}
	}
	return out
}

// deletionQuestion tells what will be gone for good.
func deletionQuestion(name string, spec v1alpha1.OperationSpec, p *planner.Prepared) command.Question {
	q := command.Question{What: "Delete cluster " + name, Cluster: p.State.Cluster,
		Lost: []string{"the running database, and its passwords and certificates"}, Kept: []string{"its volumes"}}
	if len(p.Request.Operation.Unused) > 0 {
		q.Lost, q.Kept = []string{"the cluster; no member of it ever ran, and its volumes hold nothing"}, nil
	}
	if spec.Purge {
		q.Lost, q.Kept, q.Typed = []string{"the running database and the volumes of its members, for good"},
			former(p.State), name
	}
	if c := p.State.Cluster; c != nil && c.Spec.RedirectTo != "" {
		q.Lost = append(q.Lost, fmt.Sprintf("the service %s, by which clients reach %s", v1alpha1.ClientService(name),
			c.Spec.RedirectTo))
	}
	if len(spec.Waive) > 0 {
		q.Lost = append(q.Lost, "everything since the newest backup: no last one is taken")
	} else {
		q.Kept = append(q.Kept, "a last backup, in "+spec.Repository)
	}
	return q
}
