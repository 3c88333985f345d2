package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// undo is the command that takes the last operation back.
type undo struct {
	*change

	repository                string
	skipBackup, allowDowntime bool
}

func newUndo(f *Factory, m mode) *cobra.Command {
	u := &undo{change: newChange(f, m)}
	cmd := &cobra.Command{
		Use:   "undo [NAME]",
		Short: "Take back what was done to a cluster last",
		Long: `Take back what was done to a cluster last, where the way back is known: by another operation, with a plan, checks
and a record of its own. scale, add-member and remove-member go back to the former number (who joins is a new
member with a copy of the others' data), configure and resize to the former values (volumes never shrink), upgrade
by a downgrade and the other way round as far as the database can, stop, start and auth to what was before,
switchover to who led before, user create deletes the user, and a pause is lifted.

Anything else is refused with the reason and what to type instead, as is what was changed since. An operation that
is not finished is stepped back from by 'kubectl dbop cancel'. undo goes one operation back, and not twice.`,
		Example: `  # Take back what was done to my-db last
  kubectl dbop undo my-db

  # See first what that would do
  kubectl dbop undo my-db --dry-run=client`,
		Args:              arguments(0, 1, "NAME"),
		ValidArgsFunction: completeClusters(f),
		RunE:              func(cmd *cobra.Command, args []string) error { return u.carryOut(cmd.Context(), args) },
	}
	u.addTo(cmd, longTimeout, true)
	addRepositoryFlag(cmd, &u.repository, "the safety backup of a change of version")
	cmd.Flags().BoolVar(&u.skipBackup, "skip-backup", false, "Don't take a safety backup before a change of version.")
	cmd.Flags().BoolVar(&u.allowDowntime, "allow-downtime", false, "Accept that a cluster of one or two members is down while one restarts.")
	return cmd
}

func (u *undo) carryOut(ctx context.Context, args []string) error {
	t, in, err := u.begin(ctx, "", args)
	if err != nil {
		return err
	}
	records, err := t.store.ListOperations(ctx, t.namespace, t.cluster.Name)
	if err != nil {
		return err
	}
	way, err := planner.Undo(t.cluster, records)
	if err != nil {
		return err
	}
	if way.Of == nil {
		return u.lift(ctx, in, t, false)
	}
	spec := u.f.signed(ctx, way.Operation)
	if way.TakesBackup() {
		if err := u.f.backupTo(&spec, u.repository, t.cluster); err != nil {
			return err
		}
	}
	spec.Waive = append(slices.Clone(spec.Waive), waived(map[string]bool{"backup": u.skipBackup, "downtime": u.allowDowntime})...)
	what := fmt.Sprintf("Take back %s (%s ago): %s", way.Of.Spec.Verb, u.f.age(way.Of.Status.StartedAt.Time), way.Title)
	if u.mode == planOnly || u.dryRun != dryRunNone {
		u.f.note("%s", what)
		for _, s := range way.Stays {
			u.f.note("  not restored: %s", s)
		}
	}
	in.request.Operation, in.verbed = spec, string(way.Of.Spec.Verb)+" taken back"
	in.ask = func(p *planner.Prepared) (question, error) {
		return question{what: what, lost: way.Lost, stays: way.Stays, cluster: p.State.Cluster}, nil
	}
	return u.run(ctx, in)
}
