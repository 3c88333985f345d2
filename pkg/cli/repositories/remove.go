package repositories

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
)

func newRemove(f *command.Factory) *cobra.Command {
	c := command.NewAction(f)
	cmd := &cobra.Command{
		Use:   "remove NAME",
		Short: "Forget a repository and its keys, and delete no backup",
		Long: `Forget a repository: its description and the Secrets with its keys are deleted from the namespace. What the
store holds stays, and is there again once the repository is added with the same URL and keys.`,
		Example: `  # Forget a repository
  kubectl dbop repository remove offsite`,
		Args:              command.Arguments(1, 1, "the NAME of the repository"),
		ValidArgsFunction: complete(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runRemove(cmd.Context(), f, c, args)
		},
	}
	c.AddTo(cmd, command.ShortTimeout, true)
	return cmd
}

func runRemove(ctx context.Context, f *command.Factory, c *command.Change, args []string) error {
	var r existing
	if err := c.Within(ctx, func(ctx context.Context) (err error) {
		if r, err = find(ctx, f, kube.DryRunNone, args); err != nil {
			return err
		}
		return unused(ctx, f, r.namespace, r.description.Name)
	}); err != nil {
		return err
	}
	d := r.description
	in := command.Intent{Namespace: r.namespace, Subject: "repository/" + d.Name, Verbed: "removed"}
	if c.DryRun != command.DryRunNone {
		in.Verbed = "removed (dry run)"
		return reportRemoved(ctx, f, c, in, d)
	}
	q := command.Question{What: "Forget repository " + d.Name, Kept: []string{"every backup in " + d.URL},
		Lost: []string{"the keys of the namespace to it: its signing key, and the secret key if the namespace has it"}}
	if !c.Yes {
		if err := f.Confirm(ctx, in, q); err != nil {
			return err
		}
	}
	if err := c.Within(ctx, func(ctx context.Context) error {
		return r.named.Delete(ctx, r.namespace, d.Name)
	}); err != nil {
		return err
	}
	return reportRemoved(ctx, f, c, in, d)
}

// unused refuses to take the place away that logs are archived to: members keep their log until it is archived, and
// their volumes fill up.
func unused(ctx context.Context, f *command.Factory, namespace, name string) error {
	all, err := f.ClustersHere(ctx)
	if err != nil {
		return err
	}
	for _, c := range all {
		e, err := f.EngineNamed(c.Spec.Engine)
		if err != nil {
			continue
		}
		if a, ok := e.(engine.LogArchiver); ok && a.ArchiveRepository(c.Spec) == name {
			return &ops.Error{Kind: ops.Refused, Check: "repository-used",
				Message: fmt.Sprintf("repository %s is not removed: %s in namespace %s archives its log there", name, c.Name,
					namespace),
				Hint: fmt.Sprintf("kubectl dbop -n %s configure %s --unset archive-repository archives it no more", namespace,
					c.Name)}
		}
	}
	return nil
}

func reportRemoved(ctx context.Context, f *command.Factory, c *command.Change, in command.Intent,
	d bucket.Description) error {
	if !c.Out.Human() && !c.Out.Name() {
		return c.Out.Print(f.Results(), "Repository", d)
	}
	return c.Report(ctx, in, nil, nil)
}
