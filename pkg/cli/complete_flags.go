package cli

import (
	"cmp"
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// completeShared completes flags that several commands have.
func completeShared(f *Factory, cmd *cobra.Command) {
	for flag, complete := range map[string]completion{
		"repository":    completeRepositories(f),
		"storage-class": completeStorageClasses(f),
		"set":           spaceless(completeOptions(f, "=")),
		"unset":         completeOptions(f, ""),
		// Who may list secrets may read them: none is asked for.
		"ca-secret": cobra.NoFileCompletions,
	} {
		if cmd.Flags().Lookup(flag) != nil {
			_ = cmd.RegisterFlagCompletionFunc(flag, complete)
		}
	}
	for _, child := range cmd.Commands() {
		completeShared(f, child)
	}
}

// spaceless leaves the cursor where a suggestion ends.
func spaceless(complete completion) completion {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		out, directive := complete(cmd, args, prefix)
		return out, directive | cobra.ShellCompDirectiveNoSpace
	}
}

// completeRepositories suggests where clusters of the namespace have backups.
func completeRepositories(f *Factory) completion {
	return suggest(completeMost, func(ctx context.Context, _ []string) ([]string, error) {
		namespace, err := f.namespace()
		if err != nil {
			return nil, err
		}
		store, err := f.newStore(kube.DryRunClient)
		if err != nil {
			return nil, err
		}
		clusters, err := store.ListClusters(ctx, namespace, "")
		if err != nil {
			return nil, err
		}
		var out []string
		for _, c := range clusters {
			out = append(out, c.Spec.Backup.Repository)
			if b := c.Status.LastBackup; b != nil {
				out = append(out, b.Repository)
			}
		}
		slices.Sort(out)
		return slices.DeleteFunc(slices.Compact(out), func(s string) bool { return s == "" }), nil
	})
}

func completeStorageClasses(f *Factory) completion {
	return suggest(completeMost, func(ctx context.Context, _ []string) ([]string, error) {
		namespace, err := f.namespace()
		if err != nil {
			return nil, err
		}
		site, err := f.preflight(ctx, namespace, "")
		return site.Classes.Names, err
	})
}

// completeOptions suggests what a person may set of the cluster's options.
func completeOptions(f *Factory, suffix string) completion {
	return suggest(completeMost, func(ctx context.Context, args []string) ([]string, error) {
		t, err := f.target(ctx, args)
		if err != nil {
			return nil, err
		}
		lister, ok := t.engine.(engine.OptionLister)
		if !ok {
			return nil, nil
		}
		options, err := lister.ListOptions(t.cluster.Spec.Version)
		var out []string
		for _, o := range options {
			if o.Managed == "" {
				out = append(out, o.Name+suffix)
			}
		}
		return out, err
	})
}

// completeNewVersions suggests the versions in the direction of the verb.
func completeNewVersions(f *Factory, cmd *cobra.Command, verb v1alpha1.Verb) {
	_ = cmd.RegisterFlagCompletionFunc("version", suggest(completeMost, func(ctx context.Context, args []string) ([]string, error) {
		t, err := f.target(ctx, args)
		if err != nil {
			return nil, err
		}
		releases := t.engine.Catalog().Releases
		at := slices.IndexFunc(releases, func(r engine.Release) bool { return r.Version == t.cluster.Spec.Version })
		var out []string
		for i, r := range releases {
			if direction := cmp.Compare(i, at); at < 0 || verb == v1alpha1.VerbUpgrade && direction > 0 || verb == v1alpha1.VerbDowngrade && direction < 0 {
				out = append(out, r.Version)
			}
		}
		return out, nil
	}))
}
