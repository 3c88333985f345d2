package backup

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

func newBackupVerify(f *command.Factory) *cobra.Command {
	c := command.NewAction(f)
	var repo, helper string
	cmd := &cobra.Command{
		Use:   "verify ID",
		Short: "Prove that a backup can be restored",
		Long: `Prove that a backup can be restored: it is loaded into a throw-away member that serves it, and what is
served is compared with the manifest. The cluster that it was taken from is not touched, and need not exist.`,
		Example: `  # Verify a backup of the default repository
  kubectl dbop backup verify my-db-20261121T101500Z-0a1b`,
		Args:              command.Arguments(1, 1, "the ID of the backup"),
		ValidArgsFunction: command.CompleteBackups(f, &repo),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runBackupVerify(cmd.Context(), f, c, repo, helper, args[0])
		},
	}
	c.AddTo(cmd, command.StreamTimeout, false)
	command.AddRepositoryFlag(cmd, &repo, "the backup")
	cmd.Flags().StringVar(&helper, "helper-image", "",
		"Image of this tool for its helper pods (environment: "+command.EnvHelperImage+").")
	return cmd
}

func runBackupVerify(ctx context.Context, f *command.Factory, c *command.Change, repo, helper, id string) error {
	r, m, err := f.FindBackup(ctx, repo, id, helper)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	in, err := verifyIntent(ctx, f, m, r.URL(), helper)
	if err != nil {
		return err
	}
	plan := verifyPlan(m)
	step := plan.Steps[0]
	if c.DryRun != command.DryRunNone {
		if err := c.ShowPlan(in, plan, true); err != nil {
			return err
		}
		if c.DryRun == command.DryRunServer {
			f.Note("not rehearsed: %s (%s)", step.Title, command.Unrehearsed(step))
		}
		in.Verbed += " (dry run)"
	} else {
		if err := c.Verify(ctx, in, plan, r, m); err != nil {
			return err
		}
		if m, err = r.Get(ctx, id); err != nil {
			return fmt.Errorf("read the manifest of %s again: %w", id, err)
		}
	}
	if !c.Out.Human() {
		return c.Out.Print(f.Streams.Out, "Backup", m)
	}
	return c.Report(ctx, in, nil, nil)
}

// verifyPlan is the one step that a verification takes.
func verifyPlan(m repository.Manifest) ops.Plan {
	return ops.Plan{Verb: "verify", Cluster: m.Cluster,
		Steps: []ops.Step{{ID: "verify-backup/" + m.ID, Action: ops.ActionVerify,
			Title: "Restore the backup into a throw-away member and compare", Risk: ops.RiskNone,
			Touches: []string{"backup/" + m.ID}}}}
}

// verifyIntent replaces the cluster if that is gone: the throw-away
// member then takes what is the default.
func verifyIntent(ctx context.Context, f *command.Factory, m repository.Manifest, url, helper string) (command.Intent,
	error) {
	e, err := f.EngineNamed(m.Engine)
	if err != nil {
		return command.Intent{}, err
	}
	namespace, err := f.Namespace()
	if err != nil {
		return command.Intent{}, err
	}
	like, err := f.ClusterIfAny(ctx, m.Cluster)
	if err != nil {
		return command.Intent{}, err
	}
	if like == nil {
		like = command.StandIn(namespace, m)
		like.Spec.Registry = f.Getenv(command.EnvRegistry)
	}
	if helper != "" || like.Spec.HelperImage == "" {
		like.Spec.HelperImage = f.Either(helper, command.EnvHelperImage)
	}
	in := command.Intent{Namespace: namespace, Engine: e, Subject: "backup/" + m.ID, Verbed: "verified",
		Next: command.DisplayName + " backup describe " + m.ID + " --repository " + url}
	in.Request.Cluster = like
	return in, nil
}
