package operation

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// undo is the command that takes the last operation back.
type undo struct {
	*command.Change

	repository                string
	skipBackup, allowDowntime bool
}

// NewUndo makes the command undo.
func NewUndo(f *command.Factory) *cobra.Command {
	u := &undo{Change: command.NewChange(f)}
	cmd := &cobra.Command{
		Use:   "undo [NAME]",
		Short: "Undo the last operation on a cluster",
		Long: `Undo the last operation on a cluster, by another operation with a plan, checks and a record of its own:

- scale, add-member, member remove: back to the former number; a member that joins gets a copy of the data
- configure, resize: back to the former values; volumes never shrink
- upgrade, downgrade: the other way round, as far as the database can
- stop, start, user auth, switchover: back to what was before
- user create: deletes the user
- restore --in-place: back to the volumes from before, as long as they are there
- pause: resumes

Anything else is refused, with the reason and what to type instead. So is what was changed since. An operation that
is not finished is cancelled by 'kubectl dbop cancel'. undo goes one operation back, and not twice.`,
		Example: `  # Take back what was done to my-db last
  kubectl dbop undo my-db

  # See first what that would do
  kubectl dbop undo my-db --dry-run=client`,
		Args:              command.Arguments(0, 1, "NAME"),
		ValidArgsFunction: command.CompleteClusters(f),
		RunE:              func(cmd *cobra.Command, args []string) error { return u.carryOut(cmd.Context(), args) },
	}
	u.AddTo(cmd, command.StreamTimeout, true)
	command.AddRepositoryFlag(cmd, &u.repository, "the safety backup of a change of version")
	cmd.Flags().BoolVar(&u.skipBackup, "skip-backup", false, "Don't take a safety backup before a change of version.")
	cmd.Flags().BoolVar(&u.allowDowntime, "allow-downtime", false,
		"Accept that a cluster of one or two members is down while one restarts.")
	return cmd
}

func (u *undo) carryOut(ctx context.Context, args []string) error {
	t, in, err := u.Begin(ctx, "", args)
	if err != nil {
		return err
	}
	records, err := t.Store.ListOperations(ctx, t.Namespace, t.Cluster.Name)
	if err != nil {
		return err
	}
	way, err := planner.Undo(t.Cluster, records)
	if err != nil {
		return err
	}
	if way.Of == nil {
		return lift(ctx, u.Change, in, t, false)
	}
	spec := u.Factory.Signed(ctx, way.Operation)
	if way.TakesBackup {
		if err := u.Factory.BackupTo(&spec, u.repository, t.Cluster); err != nil {
			return err
		}
	}
	spec.Waive = append(slices.Clone(spec.Waive),
		command.Waived(map[string]bool{"backup": u.skipBackup, "downtime": u.allowDowntime})...)
	what := fmt.Sprintf("Take back %s (%s ago): %s", way.Of.Spec.Verb, u.Factory.Age(way.Of.Status.StartedAt.Time),
		way.Title)
	if u.Planning() || u.DryRun != command.DryRunNone {
		u.Factory.Note("%s", what)
		for _, s := range way.Lost {
			u.Factory.Note("  lost: %s", s)
		}
		for _, s := range way.Kept {
			u.Factory.Note("  kept: %s", s)
		}
		for _, s := range way.Stays {
			u.Factory.Note("  not restored: %s", s)
		}
	}
	in.Request.Operation, in.Verbed = spec, string(way.Of.Spec.Verb)+" taken back"
	in.Ask = func(p *planner.Prepared) (command.Question, error) {
		return command.Question{What: what, Lost: way.Lost, Kept: way.Kept, Stays: way.Stays, Cluster: p.State.Cluster}, nil
	}
	return u.Run(ctx, in)
}
