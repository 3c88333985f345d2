package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/policy"
)

// checkName judges a new cluster's name before a single request is made.
func checkName(name string) error {
	if problems := validation.IsDNS1035Label(name); len(problems) > 0 {
		return &usageError{text: fmt.Sprintf("%q can't be the name of a cluster: %s", name, strings.Join(problems, "; ")),
			hint: "use small letters, digits and '-', beginning with a letter, such as my-db"}
	}
	if len(name) > v1alpha1.MaxNameLength {
		return &usageError{text: fmt.Sprintf("%q is too long for the name of a cluster: %d characters, at most %d", name, len(name), v1alpha1.MaxNameLength)}
	}
	return nil
}

func newCreate(f *Factory, m mode) *cobra.Command {
	c := newChange(f, m)
	flags := &clusterFlags{}
	var fromVolumes, discard bool
	cmd := &cobra.Command{
		Use:   "create NAME --engine ENGINE",
		Short: "Create a database cluster",
		Long: `Create a database cluster. Repeating the command continues a creation that was interrupted, and does
nothing to a cluster that is as asked already.`,
		Example: `  # Create a cluster of three members with the default version
  kubectl dbop create my-db --engine etcd

  # Choose version and size, spread over three nodes
  kubectl dbop create my-db --engine etcd --version 3.6 --members 3 --storage 8Gi --require-spread

  # Let nobody in who does not log in
  kubectl dbop create my-db --engine etcd --auth

  # Start a cluster again that was deleted and whose volumes were kept
  kubectl dbop create my-db --from-volumes`,
		Args:              arguments(1, 1, "the NAME of the new cluster"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.check(); err != nil {
				return err
			}
			if fromVolumes {
				return c.fromVolumes(cmd, args)
			}
			if flags.engine == "" {
				return &usageError{text: "--engine is required", hint: displayName + " engines lists what there is"}
			}
			if err := checkName(args[0]); err != nil {
				return err
			}
			in, err := createIntent(cmd.Context(), f, flags, args[0])
			if err != nil {
				return err
			}
			if discard {
				in.request.Operation.Purge = true
				in.ask = func(p *planner.Prepared) (question, error) { return discardQuestion(args[0], p), nil }
			}
			return c.run(cmd.Context(), in)
		},
	}
	c.addTo(cmd, shortTimeout, true)
	cmd.Flags().BoolVar(&fromVolumes, "from-volumes", false, "Start the members of an earlier cluster of this name again, on the volumes that it left.")
	cmd.Flags().BoolVar(&discard, "discard-volumes", false, "Delete the volumes that an earlier cluster of this name left, with all data in them.")
	cmd.Flags().StringVar(&flags.engine, "engine", "", "Database product, see 'kubectl dbop engines'.")
	cmd.Flags().Int32Var(&flags.members, "members", 3, "Number of members.")
	cmd.Flags().BoolVar(&flags.auth, "auth", false, "Demand from the beginning that clients log in, see 'kubectl dbop auth'.")
	cmd.Flags().StringVar(&flags.repository, "repository", "", "Default repository of this cluster's backups, such as dir:/backups or pvc:claim.")
	flags.addTo(f, cmd)
	completeEngines(f, cmd)
	return cmd
}

func createIntent(ctx context.Context, f *Factory, flags *clusterFlags, name string) (intent, error) {
	namespace, err := f.namespace()
	if err != nil {
		return intent{}, err
	}
	cluster, err := flags.cluster(f, namespace, name)
	if err != nil {
		return intent{}, err
	}
	if err := policy.Found(cluster, f.Random); err != nil {
		return intent{}, err
	}
	e, err := f.engineNamed(flags.engine)
	if err != nil {
		return intent{}, err
	}
	spec := f.operation(ctx, v1alpha1.VerbCreate, name)
	spec.Members, spec.Version = cluster.Spec.Members, cluster.Spec.Version
	if flags.force {
		spec.Waive = []string{"size"}
	}
	return intent{namespace: namespace, engine: e, request: planner.Request{Operation: spec, Cluster: cluster},
		subject: e.Name() + "/" + name, verbed: "created", next: displayName + " status " + name}, nil
}

// fromVolumes starts an earlier cluster again on its volumes: what it is comes
// from them, so no other flag may say it.
func (c *change) fromVolumes(cmd *cobra.Command, args []string) error {
	for _, flag := range []string{"engine", "version", "members", "storage", "storage-class", "auth", "image", "discard-volumes"} {
		if cmd.Flags().Changed(flag) {
			return misuse("--from-volumes starts the cluster as it was: --%s can't be given with it", flag)
		}
	}
	ctx := cmd.Context()
	_, err := c.f.target(ctx, args)
	if err == nil {
		return &ops.Error{Kind: ops.Refused, Check: "exists", Message: "cluster " + args[0] + " exists already",
			Hint: displayName + " status " + args[0] + "; a member that is stopped starts with: " + displayName + " start " + args[0]}
	}
	t, err := c.f.lost(ctx, args, err)
	if err != nil {
		return err
	}
	in := intent{namespace: t.namespace, engine: t.engine, subject: t.subject(), verbed: "created from its volumes", next: displayName + " status " + args[0],
		request: planner.Request{Operation: c.f.operation(ctx, v1alpha1.VerbRepair, args[0]), Cluster: t.cluster}}
	return c.run(ctx, in)
}

// discardQuestion tells which volumes will be gone for good.
func discardQuestion(name string, p *planner.Prepared) question {
	q := question{what: "Create cluster " + name + " and delete what an earlier one left", typed: name}
	for _, step := range p.Plan.Steps {
		if step.Action == ops.ActionDeleteVolume {
			q.lost = append(q.lost, step.Touches...)
		}
	}
	if len(q.lost) == 0 {
		q.typed, q.lost = "", []string{"nothing: there are no such volumes"}
	}
	return q
}
