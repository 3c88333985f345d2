package command

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// plannable marks a command whose steps plan can show.
const plannable = "dbop.dev/plannable"

// Planned is the same command below plan: it takes the same flags, and shows
// what would be done. It is nil for a command without a plan. The flags that
// say how a change is carried out are taken and do nothing, because a plan is
// asked for by the line that would do it; --dry-run is not taken.
func (f *Factory) Planned(cmd *cobra.Command, example func(string) string) *cobra.Command {
	_, own := cmd.Annotations[plannable]
	out := &cobra.Command{Use: cmd.Use, Short: cmd.Short, Long: cmd.Long, Args: cmd.Args, PreRunE: cmd.PreRunE,
		RunE:              cmd.RunE,
		ValidArgsFunction: cmd.ValidArgsFunction}
	for _, child := range cmd.Commands() {
		if planned := f.Planned(child, example); planned != nil {
			out.AddCommand(planned)
		}
	}
	if !own {
		if !out.HasSubCommands() {
			return nil
		}
		return out
	}
	out.Example = example(cmd.Example)
	out.RunE = func(planned *cobra.Command, args []string) error {
		f.planning = true
		return cmd.RunE(planned, args)
	}
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if flag.Name == "dry-run" || flag.Name == "help" {
			return
		}
		same := *flag
		same.Hidden = flag.Hidden || slices.Contains([]string{"progress", "error-unchanged", "yes", "confirm"}, flag.Name)
		out.Flags().AddFlag(&same)
		if complete, ok := cmd.GetFlagCompletionFunc(flag.Name); ok {
			_ = out.RegisterFlagCompletionFunc(flag.Name, complete)
		}
	})
	return out
}
