package diagnostics

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/bundle"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
)

// NewSupportBundle makes the command support-bundle.
func NewSupportBundle(f *command.Factory) *cobra.Command {
	var file string
	var all bool
	var tail int64
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "support-bundle [NAME]",
		Short: "Collect diagnostics, without secrets",
		Long: `Collect diagnostics into one archive: records with their journals, objects, events, nodes,
logs of all members, and what status, diagnose and plan say. Values of secrets are masked wherever they occur;
of certificates stays what they say. What you may not read is listed in missing.txt. Nothing is changed, and no
file is overwritten.`,
		Example: `  # Gather what there is about my-db
  kubectl dbop support-bundle my-db

  # Gather all clusters of all namespaces into a file of your choice
  kubectl dbop support-bundle -A --file everything.tar.gz`,
		Args:              command.Arguments(0, 1, "NAME"),
		ValidArgsFunction: command.CompleteClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all && len(args) > 0 {
				return exit.Misuse("a NAME and --all-namespaces exclude each other")
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return runSupportBundle(ctx, f, args, all, file, tail)
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "File to write; NAME-TIME.tar.gz in the current directory if not set.")
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "Gather the clusters of all namespaces.")
	cmd.Flags().Int64Var(&tail, "tail", 2000, "Only this many lines of each log; -1 is all.")
	cmd.Flags().DurationVar(&timeout, "timeout", command.ShortTimeout, "How long it may take, such as 10m.")
	_ = cmd.MarkFlagFilename("file", "tar.gz")
	return cmd
}

func runSupportBundle(ctx context.Context, f *command.Factory, args []string, all bool, file string, tail int64) error {
	targets, err := f.Targets(ctx, args, all)
	if err != nil {
		return err
	}
	subject := "clusters"
	if len(targets) == 1 {
		subject = targets[0].Cluster.Name
	}
	if file == "" {
		file = fmt.Sprintf("dbop-%s-%s.tar.gz", subject, f.Now().UTC().Format("20060102T150405Z"))
	}
	g := &gatherer{f: f, masker: &bundle.Masker{}, tail: tail}
	g.archive = bundle.New(g.masker)
	g.gather(ctx, targets)
	if err := g.archive.Write(file, f.Now()); err != nil {
		return err
	}
	if n := g.archive.Absent(); n > 0 {
		f.Note("%s could not be collected: see missing.txt in it", printer.Plural(n, "item"))
	}
	f.Note("examine it before you hand it on: tar -xzf %s", file)
	_, err = fmt.Fprintln(f.Streams.Out, file)
	return err
}

// logSelector picks the pods of a cluster, helpers included.
func logSelector(cluster string) string { return v1alpha1.LabelCluster + "=" + cluster }
