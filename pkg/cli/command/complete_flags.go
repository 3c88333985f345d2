package command

import (
	"cmp"
	"context"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// CompleteShared completes flags that several commands have, and has no other
// flag fall to file names unless it takes a path.
func CompleteShared(f *Factory, cmd *cobra.Command) {
	shared := map[string]Completion{
		"repository":         completeRepositories(f),
		"storage-class":      completeStorageClasses(f),
		"set":                spaceless(completeOptions(f, "=")),
		"unset":              completeOptions(f, ""),
		"ca-secret":          completeCertificates(f),
		"cert-secret":        completeCertificates(f),
		"dead":               CompleteMemberFlag(f),
		"without":            CompleteMemberFlag(f),
		"watch":              completeNamespaces(f),
		"operator-namespace": completeNamespaces(f),
		"lease-namespace":    completeNamespaces(f),
	}
	each := func(flag *pflag.Flag) {
		if _, done := cmd.GetFlagCompletionFunc(flag.Name); done || flag.Value.Type() == "bool" || takesPath(flag) {
			return
		}
		complete, ok := shared[flag.Name]
		if !ok {
			complete = cobra.NoFileCompletions
		}
		_ = cmd.RegisterFlagCompletionFunc(flag.Name, complete)
	}
	cmd.Flags().VisitAll(each)
	cmd.PersistentFlags().VisitAll(each)
	for _, child := range cmd.Commands() {
		if !child.Hidden {
			CompleteShared(f, child)
		}
	}
}

// takesPath reports whether a flag names a file or a directory of this machine.
func takesPath(flag *pflag.Flag) bool {
	if _, directory := flag.Annotations[cobra.BashCompSubdirsInDir]; directory {
		return true
	}
	return slices.Contains([]string{"kubeconfig", "cache-dir", "certificate-authority", "client-certificate",
		"client-key",
		"template", "from-file", "file"}, flag.Name)
}

// spaceless leaves the cursor where a suggestion ends.
func spaceless(complete Completion) Completion {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		out, directive := complete(cmd, args, prefix)
		return out, directive | cobra.ShellCompDirectiveNoSpace
	}
}

// completeRepositories suggests where clusters of the namespace have backups.
func completeRepositories(f *Factory) Completion {
	return Suggest(completeMost, func(ctx context.Context, _ []string) ([]string, error) {
		clusters, err := f.ClustersHere(ctx)
		var out []string
		for _, c := range clusters {
			out = append(out, c.Spec.Backup.Repository)
			if b := c.Status.LastBackup; b != nil {
				out = append(out, b.Repository)
			}
		}
		slices.Sort(out)
		return slices.DeleteFunc(slices.Compact(out), func(s string) bool { return s == "" }), err
	})
}

func completeStorageClasses(f *Factory) Completion {
	return Suggest(completeMost, func(ctx context.Context, _ []string) ([]string, error) {
		namespace, err := f.Namespace()
		if err != nil {
			return nil, err
		}
		site, err := f.Clients.Preflight(ctx, namespace, "")
		return site.Classes.Names, err
	})
}

// completeCertificates suggests secrets with a certificate. No more is read of
// them than their names.
func completeCertificates(f *Factory) Completion {
	return Suggest(completeMost, func(ctx context.Context, _ []string) ([]string, error) {
		namespace, err := f.Namespace()
		if err != nil {
			return nil, err
		}
		return f.Clients.CertificateSecrets(ctx, namespace)
	})
}

// completeOptions suggests what a person may set of the cluster's options.
func completeOptions(f *Factory, suffix string) Completion {
	return Suggest(completeMost, func(ctx context.Context, args []string) ([]string, error) {
		t, err := f.Target(ctx, args)
		if err != nil {
			return nil, err
		}
		lister, ok := t.Engine.(engine.OptionLister)
		if !ok {
			return nil, nil
		}
		options, err := lister.ListOptions(t.Cluster.Spec.Version)
		var out []string
		for _, o := range options {
			if o.Managed == "" {
				out = append(out, o.Name+suffix)
			}
		}
		return out, err
	})
}

// CompleteNewVersions suggests the versions in the direction of the verb.
func CompleteNewVersions(f *Factory, cmd *cobra.Command, verb v1alpha1.Verb) {
	_ = cmd.RegisterFlagCompletionFunc("version",
		Suggest(completeMost, func(ctx context.Context, args []string) ([]string, error) {
			t, err := f.Target(ctx, args)
			if err != nil {
				return nil, err
			}
			releases := t.Engine.Catalog().Releases
			at := slices.IndexFunc(releases, func(r engine.Release) bool { return r.Version == t.Cluster.Spec.Version })
			var out []string
			for i, r := range releases {
				direction := cmp.Compare(i, at)
				if at < 0 || verb == v1alpha1.VerbUpgrade && direction > 0 || verb == v1alpha1.VerbDowngrade && direction < 0 {
					out = append(out, r.Version)
				}
			}
			return out, nil
		}))
}
