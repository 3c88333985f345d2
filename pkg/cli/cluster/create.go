package cluster

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/policy"
)

// CheckName judges a new cluster's name before a single request is made.
func CheckName(name string) error {
	if problems := validation.IsDNS1035Label(name); len(problems) > 0 {
		return &exit.UsageError{
			Text:   fmt.Sprintf("%q can't be the name of a cluster: %s", name, strings.Join(problems, "; ")),
			Advice: "use small letters, digits and '-', beginning with a letter, such as my-db"}
	}
	if len(name) > v1alpha1.MaxNameLength {
		return &exit.UsageError{
			Text: fmt.Sprintf("%q is too long for the name of a cluster: %d characters, at most %d", name, len(name),
				v1alpha1.MaxNameLength)}
	}
	return nil
}

// NewCreate makes the command create.
func NewCreate(f *command.Factory) *cobra.Command {
	c := command.NewChange(f)
	flags := &Flags{}
	var fromVolumes, discard bool
	source, database := &sourceFlags{}, &databaseFlags{}
	cmd := &cobra.Command{
		Use:   "create NAME --engine ENGINE",
		Short: "Create a database cluster",
		Long: `Create a database cluster. Repeating the command continues a creation that was interrupted, and does
nothing to a cluster that is as requested already. As long as the cluster has not formed, a repeat with
other options, memory, CPU or image corrects them: nothing has to be deleted for a typing error.`,
		Example: `  # Create a cluster of three members with the default version
  kubectl dbop create my-db --engine etcd

  # Choose version and size, spread over three nodes
  kubectl dbop create my-db --engine etcd --version 3.6 --members 3 --storage 8Gi --require-spread

  # Let nobody in who does not log in
  kubectl dbop create my-db --engine etcd --auth

  # Make a database and its owner, and what the SQL in a secret makes
  kubectl dbop create my-db --engine postgres --database shop --initial-sql schema

  # Move in: begin as the copy of a server that runs, and follow it until 'kubectl dbop cutover my-db'
  kubectl dbop create my-db --engine valkey --from-primary redis.shop:6379 --from-secret redis

  # Start a cluster again that was deleted and whose volumes were kept
  kubectl dbop create my-db --from-volumes`,
		Args:              command.Arguments(1, 1, "the NAME of the new cluster"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if fromVolumes {
				return createFromVolumes(c, cmd, args)
			}
			if flags.Engine == "" {
				return &exit.UsageError{Text: "--engine is required", Advice: command.DisplayName +
					" engines lists what there is"}
			}
			if err := CheckName(args[0]); err != nil {
				return err
			}
			in, err := createIntent(cmd.Context(), f, flags, args[0])
			if err != nil {
				return err
			}
			if err := source.addTo(in.Request.Cluster); err != nil {
				return err
			}
			if err := database.addTo(in.Engine, in.Request.Cluster); err != nil {
				return err
			}
			if discard {
				in.Request.Operation.Purge = true
				in.Ask = func(p *planner.Prepared) (command.Question, error) { return discardQuestion(args[0], p), nil }
			}
			return c.Run(cmd.Context(), in)
		},
	}
	c.AddTo(cmd, command.ShortTimeout, true)
	cmd.Flags().BoolVar(&fromVolumes, "from-volumes", false,
		"Start the members of an earlier cluster of this name again, on the volumes that it left.")
	cmd.Flags().BoolVar(&discard, "discard-volumes", false,
		"Delete the volumes that an earlier cluster of this name left, with all data in them.")
	cmd.Flags().StringVar(&flags.Engine, "engine", "", "Database product, see 'kubectl dbop engines'.")
	cmd.Flags().Int32Var(&flags.Members, "members", 3, "Number of members.")
	cmd.Flags().BoolVar(&flags.auth, "auth", false,
		"Demand from the beginning that clients log in, see 'kubectl dbop user auth'.")
	cmd.Flags().StringVar(&flags.repository, "repository", "",
		"Default repository of this cluster's backups, such as dir:/backups or pvc:claim.")
	source.define(cmd)
	database.define(cmd)
	flags.AddTo(f, cmd)
	command.CompleteEngines(f, cmd)
	return cmd
}

func createIntent(ctx context.Context, f *command.Factory, flags *Flags, name string) (command.Intent, error) {
	namespace, err := f.Namespace()
	if err != nil {
		return command.Intent{}, err
	}
	cluster, err := flags.Cluster(f, namespace, name)
	if err != nil {
		return command.Intent{}, err
	}
	e, err := f.EngineNamed(flags.Engine)
	if err != nil {
		return command.Intent{}, err
	}
	if err := policy.Found(e, cluster, f.Random); err != nil {
		return command.Intent{}, err
	}
	spec := f.Operation(ctx, v1alpha1.VerbCreate, name)
	spec.Members, spec.Version = cluster.Spec.Members, cluster.Spec.Version
	if flags.Force {
		spec.Waive = []string{"size"}
	}
	return command.Intent{Namespace: namespace, Engine: e, Request: planner.Request{Operation: spec, Cluster: cluster},
		Subject: e.Name() + "/" + name, Verbed: "created", Next: command.DisplayName + " status " + name}, nil
}

// createFromVolumes starts an earlier cluster again on its volumes: what it is comes
// from them, so no other flag may say it.
func createFromVolumes(c *command.Change, cmd *cobra.Command, args []string) error {
	for _, flag := range []string{"engine", "version", "members", "storage", "storage-class", "auth", "image",
		"discard-volumes", "from-primary", "database", "initial-sql"} {
		if cmd.Flags().Changed(flag) {
			return exit.Misuse("--from-volumes starts the cluster as it was: --%s can't be given with it", flag)
		}
	}
	ctx := cmd.Context()
	_, err := c.Factory.Target(ctx, args)
	if err == nil {
		return &ops.Error{Kind: ops.Refused, Check: "exists", Message: "cluster " + args[0] + " exists already",
			Hint: command.DisplayName + " status " + args[0] + "; a member that is stopped starts with: " +
				command.DisplayName + " start " + args[0]}
	}
	t, err := c.Factory.Lost(ctx, args, err)
	if err != nil {
		return err
	}
	in := command.Intent{Namespace: t.Namespace, Engine: t.Engine, Subject: t.Subject(),
		Verbed: "created from its volumes", Next: command.DisplayName + " status " + args[0],
		Request: planner.Request{Operation: c.Factory.Operation(ctx, v1alpha1.VerbRepair, args[0]), Cluster: t.Cluster}}
	return c.Run(ctx, in)
}

// discardQuestion tells which volumes will be gone for good.
func discardQuestion(name string, p *planner.Prepared) command.Question {
	q := command.Question{What: "Create cluster " + name + " and delete what an earlier one left", Typed: name}
	for _, step := range p.Plan.Steps {
		if step.Action == ops.ActionDeleteVolume {
			q.Lost = append(q.Lost, step.Touches...)
		}
	}
	if len(q.Lost) == 0 {
		q.Typed, q.Lost = "", []string{"nothing: there are no such volumes"}
	}
	return q
}
