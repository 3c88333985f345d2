package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clients"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/operation"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// recoverFlags are those of recover.
type recoverFlags struct {
	method, from, repo, confirm string
	dead, without               []string
	force                       bool
}

// NewRecover makes the command recover.
func NewRecover(f *command.Factory) *cobra.Command {
	c := command.NewChange(f)
	flags := &recoverFlags{}
	cmd := &cobra.Command{
		Use:   "recover [NAME]",
		Short: "Recover from quorum loss",
		Long: `Recover from quorum loss. It shows what is left of each member and proposes the way that loses least:
bring-back gives pods to members whose volumes exist, and touches no data; data starts again from a copy of the
most advanced data directory that is left, and asks where none holds all that the others hold; backup starts again
from the newest verified backup. No volume is deleted by any of them. With a quorum it does nothing.

Without the flags it observes, says what it would do, and asks. What may lose data asks for the cluster's name.`,
		Example: `  # Inspect, and go the proposed way once it was confirmed
  kubectl dbop recover my-db

  # Start again from a backup, because no data is left
  kubectl dbop recover my-db --method backup --from my-db-20261121T101500Z-0a1b`,
		Args:              command.Arguments(0, 1, "NAME"),
		ValidArgsFunction: command.CompleteClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.check(); err != nil {
				return err
			}
			t, err := f.Target(cmd.Context(), args)
			if err != nil {
				return err
			}
			return runRecover(cmd.Context(), f, c, flags, t)
		},
	}
	c.AddTo(cmd, command.StreamTimeout, true)
	cmd.Flags().StringVar(&flags.method, "method", "",
		"bring-back, data or backup; the one that loses least, as far as it shows, if not set.")
	cmd.Flags().StringVar(&flags.from, "from", "",
		"With --method backup: identifier of the backup; the newest verified one if not set. With --method data: the "+
			"member whose data is taken, where two hold what the other does not.")
	command.AddRepositoryFlag(cmd, &flags.repo, "the backup")
	cmd.Flags().StringSliceVar(&flags.dead, "dead", nil,
		"Members whose node is dead for good, so that their pods count as gone.")
	cmd.Flags().StringSliceVar(&flags.without, "without", nil, "Members to ignore.")
	cmd.Flags().BoolVar(&flags.force, "force", false,
		"Start again although the members that are gone may come back with a majority.")
	cmd.Flags().StringVar(&flags.confirm, "confirm", "", "The cluster's name, instead of typing it when asked.")
	_ = cmd.RegisterFlagCompletionFunc("method",
		cobra.FixedCompletions(recoveryMethods(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("from", command.CompleteBackups(f, &flags.repo))
	return cmd
}

func recoveryMethods() []string {
	return []string{string(v1alpha1.RecoverBringBack), string(v1alpha1.RecoverData), string(v1alpha1.RecoverBackup)}
}

func (r *recoverFlags) check() error {
	if r.method != "" {
		if err := command.OneOf("method", r.method, recoveryMethods()...); err != nil {
			return err
		}
	}
	if r.from != "" && r.method != string(v1alpha1.RecoverBackup) && r.method != string(v1alpha1.RecoverData) {
		return exit.Misuse("--from needs --method backup or --method data")
	}
	return nil
}

// asked is true if the person said how to recover.
func (r *recoverFlags) asked() bool {
	return r.method != "" || len(r.dead)+len(r.without) > 0 || r.force
}

func runRecover(ctx context.Context, f *command.Factory, c *command.Change, flags *recoverFlags,
	t *clients.Target) error {
	s, err := f.ObserveOnce(ctx, t, c.Timeout, command.Everything)
	if err != nil {
		return err
	}
	name := t.Cluster.Name
	in := command.Intent{Namespace: t.Namespace, Engine: t.Engine, Subject: t.Subject(), Verbed: "recovered",
		Next: command.DisplayName + " status " + name}
	spec := f.Operation(ctx, v1alpha1.VerbRecover, name)
	spec.Method, spec.Dead, spec.Without = v1alpha1.RecoveryMethod(flags.method), flags.dead, flags.without
	spec.Waive = command.Waived(map[string]bool{"transient": flags.force})
	if spec.Method == v1alpha1.RecoverData {
		spec.Member = flags.from
	}
	evidence := health.AssessLoss(t.Engine, s, flags.without...)
	active := s.Operation
	recovering := active != nil && active.Spec.Verb == v1alpha1.VerbRecover
	switch {
	case recovering && !flags.asked():
		f.Note("A recovery of %s is under way and goes on: %s", name, active.Spec.Method)
		o := active.Spec
		spec.Method, spec.Source, spec.Dead, spec.Without, spec.Waive = o.Method, o.Source, o.Dead, o.Without, o.Waive
		spec.Member = o.Member
	default:
		showEvidence(f, evidence)
		// Of a recovery on its way a quorum is not the end: the members are not all back.
		if evidence.Serves && !recovering {
			in.Request.Operation = spec
			return c.Settle(in, &ops.Error{Kind: ops.Unchanged})
		}
	}
	if spec.Method == "" {
		spec.Method = evidence.Proposed
	}
	if err := f.BackupTo(&spec, flags.repo, t.Cluster); err != nil {
		return err
	}
	lost, kept := evidence.Losses(t.Engine, spec.Method)
	if spec.Method == v1alpha1.RecoverBackup {
		m, err := recoverFrom(ctx, f, t, flags, &spec)
		if err != nil {
			return err
		}
		lost = append(lost,
			fmt.Sprintf("everything written since %s (%s ago)", m.FinishedAt.UTC().Format("2006-01-02 15:04:05Z"),
				f.Age(m.FinishedAt)))
	}
	strict := spec.Method != v1alpha1.RecoverBringBack
	if err := flags.confirmed(c, name, strict && !c.Planning()); err != nil {
		return err
	}
	in.Request.Operation = spec
	in.Ask = func(p *planner.Prepared) (command.Question, error) {
		q := command.Question{What: fmt.Sprintf("Recover %s by %s", name, spec.Method), Lost: lost, Kept: kept,
			Cluster: p.State.Cluster}
		if strict {
			q.Typed, q.Flag = name, "--confirm "+name
		}
		return q, nil
	}
	in.Settled = func(_ *command.Intent, op *v1alpha1.Operation) {
		for _, line := range operation.Examined(t.Engine, op) {
			f.Note("examined: %s", line)
		}
	}
	return c.Run(ctx, in)
}

// confirmed takes --confirm for the typed name. --yes is no word for a loss.
func (r *recoverFlags) confirmed(c *command.Change, name string, strict bool) error {
	switch {
	case r.confirm == name:
		c.Yes = true
	case r.confirm != "":
		return exit.Misuse("--confirm must be the cluster's name, %s", name)
	case strict && c.Yes:
		return &exit.UsageError{Text: "--yes does not do for a recovery that may lose data", Advice: "--confirm " + name}
	}
	return nil
}

// showEvidence prints what a choice rests on.
func showEvidence(f *command.Factory, e health.Evidence) {
	for _, line := range e.Members {
		f.Note("  %s", line)
	}
	f.Note("%s", f.ErrPalette().Bold(e.Verdict))
	if e.Proposed != "" {
		f.Note("proposed: %s", e.Proposed)
	}
}

// recoverFrom finds the backup to begin from and reads it to its end.
func recoverFrom(ctx context.Context, f *command.Factory, t *clients.Target, flags *recoverFlags,
	spec *v1alpha1.OperationSpec) (m repository.Manifest, err error) {
	url := flags.repo
	if spec.Source != nil {
		url, flags.from = spec.Source.Repository, spec.Source.Backup
	}
	r, err := f.OpenRepository(ctx, url, t.Cluster.Name, "")
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if flags.from != "" {
		m, err = r.Get(ctx, flags.from)
	} else {
		m, err = newestVerified(ctx, r, t.Cluster.Name)
	}
	if err != nil {
		return m, err
	}
	if err := planner.WholeBackup(ctx, r, m, t.Engine); err != nil {
		return m, err
	}
	if err := t.Engine.CheckRestore(m.Version, t.Cluster.Spec.Version); err != nil {
		return m, err
	}
	spec.Source = &v1alpha1.BackupSource{Repository: r.URL(), Backup: m.ID, Auth: m.Facts.Auth}
	return m, nil
}

func newestVerified(ctx context.Context, r repository.Repository, cluster string) (repository.Manifest, error) {
	all, err := r.List(ctx, cluster)
	if _, err := repository.SplitDamaged(err); err != nil {
		return repository.Manifest{}, err
	}
	m, ok := repository.NewestVerified(all)
	if ok {
		return m, nil
	}
	var ids []string
	for _, m := range all {
		ids = append(ids, m.ID)
	}
	slices.Sort(ids)
	return m, &ops.Error{Kind: ops.Refused, Check: "backup",
		Message: fmt.Sprintf("no backup of %s in %s was ever verified; there are: %s", cluster, r.URL(),
			printer.OrNone(ids)),
		Hint: "name one: --method backup --from ID, or another --repository"}
}
