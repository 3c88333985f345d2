package command

import (
	"slices"

	"github.com/spf13/cobra"
)

// Waived lists, in a stable order, the safety checks that flags gave up.
func Waived(checks map[string]bool) []string {
	var out []string
	for name, on := range checks {
		if on {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// AddRepositoryFlag defines --repository; what names that which is kept there.
func AddRepositoryFlag(cmd *cobra.Command, repo *string, what string) {
	cmd.Flags().StringVar(repo, "repository", "",
		"Repository of "+what+": its name, dir:/path or pvc:claim[/path] (default: the cluster's, else environment "+
			EnvRepository+", else a directory of yours).")
}
