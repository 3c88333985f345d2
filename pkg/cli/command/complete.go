package command

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// A suggestion that is late or too long helps nobody.
const (
	completeWithin = 2 * time.Second
	completeMost   = 100
)

// Completion suggests what can follow.
type Completion = func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective)

// Suggest makes a completion that reads the cluster: bounded, never files, never an
// error message between a person's words.
func Suggest(most int, look func(ctx context.Context, args []string) ([]string, error)) Completion {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx := cmd.Context()
		if ctx == nil {
			ctx = context.Background()
		}
		ctx, cancel := context.WithTimeout(ctx, completeWithin)
		defer cancel()
		found, err := look(ctx, args)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var out []string
		for _, s := range found {
			if strings.HasPrefix(s, prefix) && !slices.Contains(args, s) && len(out) < completeMost {
				out = append(out, s)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteClusters suggests clusters for the first argument.
func CompleteClusters(f *Factory) Completion {
	return Suggest(1, func(ctx context.Context, _ []string) ([]string, error) { return ClusterNames(ctx, f) })
}

// ClusterNames are the clusters of the namespace.
func ClusterNames(ctx context.Context, f *Factory) ([]string, error) {
	clusters, err := f.ClustersHere(ctx)
	return namesOf(clusters), err
}

// ClustersHere are the clusters of the namespace but for damaged records.
func (f *Factory) ClustersHere(ctx context.Context) ([]v1alpha1.DatabaseCluster, error) {
	namespace, records, err := f.Here()
	if err != nil {
		return nil, err
	}
	clusters, err := records.ListClusters(ctx, namespace, "")
	if errors.Is(err, store.ErrDamaged) {
		err = nil
	}
	return clusters, err
}

// CompleteMembers suggests a cluster, then one of its members.
func CompleteMembers(f *Factory) Completion {
	return Suggest(2, func(ctx context.Context, args []string) ([]string, error) {
		if len(args) == 0 {
			return ClusterNames(ctx, f)
		}
		return podMembers(ctx, f, args[0])
	})
}

// CompleteMemberFlag suggests members of the cluster that the command names.
func CompleteMemberFlag(f *Factory) Completion {
	return Suggest(completeMost, func(ctx context.Context, args []string) ([]string, error) {
		if len(args) > 0 {
			return podMembers(ctx, f, args[0])
		}
		t, err := f.Target(ctx, nil)
		if err != nil {
			return nil, err
		}
		return podMembers(ctx, f, t.Cluster.Name)
	})
}

func podMembers(ctx context.Context, f *Factory, cluster string) ([]string, error) {
	namespace, err := f.Namespace()
	if err != nil {
		return nil, err
	}
	found, err := f.Clients.Pods(ctx, namespace, v1alpha1.LabelCluster+"="+cluster+","+v1alpha1.LabelMember)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, p := range found {
		out = append(out, p.Labels[v1alpha1.LabelMember])
	}
	slices.Sort(out)
	return out, nil
}

// CompleteBackups suggests identifiers from the repository of the flag.
func CompleteBackups(f *Factory, repo *string) Completion {
	return Suggest(completeMost, func(ctx context.Context, _ []string) ([]string, error) {
		r, err := f.OpenRepository(ctx, *repo, "", "")
		if err != nil {
			return nil, err
		}
		defer func() { _ = r.Close() }()
		backups, err := r.List(ctx, "")
		damaged, err := repository.SplitDamaged(err)
		if err != nil {
			return nil, err
		}
		var out []string
		for _, b := range backups {
			out = append(out, b.ID)
		}
		for _, d := range damaged {
			out = append(out, d.ID)
		}
		return out, nil
	})
}

// CompleteOperations suggests records of the namespace.
func CompleteOperations(f *Factory) Completion {
	return Suggest(1, func(ctx context.Context, _ []string) ([]string, error) {
		namespace, reader, err := f.Here()
		if err != nil {
			return nil, err
		}
		records, err := reader.ListOperations(ctx, namespace, "")
		var out []string
		for _, o := range records {
			out = append(out, o.Name)
		}
		return out, err
	})
}

// CompleteEngines suggests engines for --engine.
func CompleteEngines(f *Factory, cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc("engine", Suggest(completeMost, func(context.Context, []string) ([]string, error) {
		var out []string
		for _, e := range f.Engines {
			out = append(out, e.Name())
		}
		return out, nil
	}))
}

// CompleteEngineVersions suggests versions of one engine, or of all for "".
func CompleteEngineVersions(f *Factory, cmd *cobra.Command, name func() string) {
	_ = cmd.RegisterFlagCompletionFunc("version",
		Suggest(completeMost, func(context.Context, []string) ([]string, error) {
			var out []string
			for _, e := range f.Engines {
				if want := name(); want != "" && e.Name() != want {
					continue
				}
				for _, r := range e.Catalog().Releases {
					out = append(out, r.Version)
				}
			}
			return out, nil
		}))
}

// CompleteGlobals suggests contexts and namespaces.
func CompleteGlobals(f *Factory, root *cobra.Command) {
	_ = root.RegisterFlagCompletionFunc("color",
		cobra.FixedCompletions([]string{printer.ColorAuto, printer.ColorAlways, printer.ColorNever},
			cobra.ShellCompDirectiveNoFileComp))
	_ = root.RegisterFlagCompletionFunc("context",
		Suggest(completeMost, func(context.Context, []string) ([]string, error) {
			raw, err := f.Flags.ToRawKubeConfigLoader().RawConfig()
			if err != nil {
				return nil, err
			}
			var out []string
			for name := range raw.Contexts {
				out = append(out, name)
			}
			slices.Sort(out)
			return out, nil
		}))
	_ = root.RegisterFlagCompletionFunc("namespace", completeNamespaces(f))
}

func completeNamespaces(f *Factory) Completion {
	return Suggest(completeMost, func(ctx context.Context, _ []string) ([]string, error) {
		return f.Clients.Namespaces(ctx)
	})
}
