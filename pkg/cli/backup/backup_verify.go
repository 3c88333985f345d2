package backup

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

func newBackupVerify(f *command.Factory) *cobra.Command {
	c := command.NewAction(f)
	var repo, helper string
	level := string(repository.LevelRestorable)
	cmd := &cobra.Command{
		Use:   "verify ID",
		Short: "Prove that a backup can be restored",
		Long: `Prove that a backup can be restored: it is loaded into a throw-away member that serves it, and what is
served is compared with the manifest. The cluster that it was taken from is not touched, and need not exist.

Lower levels cost less: "present" lists what is stored and compares it with the manifest, without a secret key;
"intact" reads each byte, and decrypts it if a key is at hand. What was found is recorded in the repository.`,
		Example: `  # Verify a backup of the default repository
  kubectl dbop backup verify my-db-20261121T101500Z-0a1b

  # Find out whether each byte of it is right, without restoring it
  kubectl dbop backup verify my-db-20261121T101500Z-0a1b --level intact`,
		Args:              command.Arguments(1, 1, "the ID of the backup"),
		ValidArgsFunction: command.CompleteBackups(f, &repo),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(levels, level) {
				return exit.Misuse("--level is one of %s, not %q", strings.Join(levels, ", "), level)
			}
			return runBackupVerify(cmd.Context(), f, c, verification{repo: repo, helper: helper, id: args[0],
				level: repository.Level(level)})
		},
	}
	c.AddTo(cmd, command.StreamTimeout, false)
	command.AddRepositoryFlag(cmd, &repo, "the backup")
	cmd.Flags().StringVar(&helper, "helper-image", "",
		"Image of this tool for its helper pods (environment: "+command.EnvHelperImage+").")
	cmd.Flags().StringVar(&level, "level", level, "What to prove: "+strings.Join(levels, ", ")+".")
	_ = cmd.RegisterFlagCompletionFunc("level", cobra.FixedCompletions(levels, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// levels are what can be proven, lowest first.
var levels = []string{string(repository.LevelPresent), string(repository.LevelIntact),
	string(repository.LevelRestorable)}

// verification is what a person asks for.
type verification struct {
	repo, helper, id string
	level            repository.Level
}

func runBackupVerify(ctx context.Context, f *command.Factory, c *command.Change, v verification) error {
	r, m, err := f.FindBackup(ctx, v.repo, v.id, v.helper)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	in, err := verifyIntent(ctx, f, m, r.URL(), v.helper)
	if err != nil {
		return err
	}
	plan := verifyPlan(m, v.level)
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
		if err := c.Verify(ctx, in, plan, r, m, v.level); err != nil {
			return err
		}
		if m, err = r.Get(ctx, v.id); err != nil {
			return fmt.Errorf("read the manifest of %s again: %w", v.id, err)
		}
	}
	if !c.Out.Human() {
		return c.Out.Print(f.Streams.Out, "Backup", m)
	}
	return c.Report(ctx, in, nil, nil)
}

// verifyPlan is the one step that a verification takes.
func verifyPlan(m repository.Manifest, level repository.Level) ops.Plan {
	title := map[repository.Level]string{
		repository.LevelPresent:    "Compare what is stored of the backup with its manifest",
		repository.LevelIntact:     "Read the backup and compare each byte",
		repository.LevelRestorable: "Restore the backup into a throw-away member and compare",
	}[level]
	return ops.Plan{Verb: "verify", Cluster: m.Cluster,
		Steps: []ops.Step{{ID: "verify-backup/" + m.ID, Action: ops.ActionVerify,
			Title: title, Risk: ops.RiskNone,
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
