package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

func newBackupVerify(f *Factory) *cobra.Command {
	c := newChange(f, perform)
	var repo, helper string
	cmd := &cobra.Command{
		Use:   "verify ID",
		Short: "Prove that a backup can be restored",
		Long: `Prove that a backup can be restored: it is loaded into a throw-away member that serves it, and what is
served is compared with the manifest. The cluster that it was taken from is not touched, and need not exist.`,
		Example: `  # Verify a backup of the default repository
  kubectl dbop backup verify my-db-20261121T101500Z-0a1b`,
		Args:              arguments(1, 1, "the ID of the backup"),
		ValidArgsFunction: completeBackups(f, &repo),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.check(); err != nil {
				return err
			}
			return runBackupVerify(cmd.Context(), f, c, repo, helper, args[0])
		},
	}
	c.addTo(cmd, longTimeout, false)
	addRepositoryFlag(cmd, &repo, "the backup")
	cmd.Flags().StringVar(&helper, "helper-image", "", "Image of this tool for its helper pods (environment: "+envHelperImage+").")
	return cmd
}

func runBackupVerify(ctx context.Context, f *Factory, c *change, repo, helper, id string) error {
	r, m, err := f.findBackup(ctx, repo, id, helper)
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
	if c.dryRun != dryRunNone {
		writePlan(f.Streams.Err, f.errPalette(), in.subject, in.namespace, plan, true)
		if c.dryRun == dryRunServer {
			f.note("not rehearsed: %s (%s)", step.Title, unrehearsed(step))
		}
		in.verbed += " (dry run)"
	} else {
		if err := c.verify(ctx, in, plan, r, m); err != nil {
			return err
		}
		if m, err = r.Get(ctx, id); err != nil {
			return fmt.Errorf("read the manifest of %s again: %w", id, err)
		}
	}
	if !c.out.human() {
		return c.out.print(f.Streams.Out, "Backup", m)
	}
	return c.report(ctx, in, nil, nil)
}

// verifyPlan is the one step that a verification takes.
func verifyPlan(m repository.Manifest) ops.Plan {
	return ops.Plan{Verb: "verify", Cluster: m.Cluster, Steps: []ops.Step{{ID: "verify-backup/" + m.ID, Action: ops.ActionVerify,
		Title: "Restore the backup into a throw-away member and compare", Risk: ops.RiskNone, Touches: []string{"backup/" + m.ID}}}}
}

// verifyIntent stands in for the cluster if that is gone: the throw-away
// member then takes what is the default.
func verifyIntent(ctx context.Context, f *Factory, m repository.Manifest, url, helper string) (intent, error) {
	e, err := f.engineNamed(m.Engine)
	if err != nil {
		return intent{}, err
	}
	namespace, err := f.namespace()
	if err != nil {
		return intent{}, err
	}
	like, err := f.clusterIfAny(ctx, m.Cluster)
	if err != nil {
		return intent{}, err
	}
	if like == nil {
		like = standIn(namespace, m)
		like.Spec.Registry = f.Getenv(envRegistry)
	}
	if helper != "" || like.Spec.HelperImage == "" {
		like.Spec.HelperImage = f.either(helper, envHelperImage)
	}
	in := intent{namespace: namespace, engine: e, subject: "backup/" + m.ID, verbed: "verified",
		next: displayName + " backup describe " + m.ID + " --repository " + url}
	in.request.Cluster = like
	return in, nil
}
