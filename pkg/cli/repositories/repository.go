// Package repositories holds the commands about repositories that have a name.
package repositories

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clients"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
)

// NewRepository makes the command repository.
func NewRepository(f *command.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "repository COMMAND",
		Short: "Add, check and remove repositories in object stores and on claims",
		Long: `Add, check and remove repositories in object stores and on claims. A repository has a name in its
namespace, which --repository takes wherever a directory or a claim can be named. A ConfigMap describes it, and
Secrets hold its keys. What it holds is in the store alone: any cluster that adds it again finds every backup there.`,
		Example: `  # Add a bucket, make a key for it, and keep that key in a file
  kubectl dbop repository add offsite --url s3://backups/team-a --from-env --new-key-file key.txt

  # Back up to it
  kubectl dbop backup my-db --repository offsite`,
		Args: cobra.ArbitraryArgs,
		RunE: command.ParentOnly,
	}
	cmd.AddCommand(newAdd(f), newList(f), newCheck(f), newRemove(f))
	return cmd
}

// nameArgument judges the NAME of a repository.
func nameArgument(args []string) (string, error) {
	if !repository.ValidName(args[0]) {
		return "", exit.Misuse("%q can't be the name of a repository: up to 40 small letters, digits and \"-\" inside",
			args[0])
	}
	return args[0], nil
}

// place is where the commands work.
func place(f *command.Factory, mode kube.DryRun) (clients.Named, string, error) {
	namespace, err := f.Namespace()
	if err != nil {
		return nil, "", err
	}
	named, err := f.Clients.Named(mode)
	return named, namespace, err
}

// existing is a repository that the namespace has.
type existing struct {
	named       clients.Named
	namespace   string
	description bucket.Description
}

// find reads the description of the repository that the argument names, or says how to list those there are.
func find(ctx context.Context, f *command.Factory, mode kube.DryRun, args []string) (existing, error) {
	name, err := nameArgument(args)
	if err != nil {
		return existing{}, err
	}
	named, namespace, err := place(f, mode)
	if err != nil {
		return existing{}, err
	}
	d, err := named.Get(ctx, namespace, name)
	if errors.Is(err, kube.ErrNotFound) {
		err = &ops.Error{Kind: ops.Failed, Check: "repository", Err: err,
			Message: fmt.Sprintf("there is no repository %s in namespace %s", name, namespace),
			Hint:    command.DisplayName + " repository list shows those there are"}
	}
	return existing{named: named, namespace: namespace, description: d}, err
}

// complete suggests the names of repositories.
func complete(f *command.Factory) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		named, namespace, err := place(f, kube.DryRunClient)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		all, _ := named.List(cmd.Context(), namespace)
		var out []cobra.Completion
		for _, d := range all {
			out = append(out, d.Name)
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}
