package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

// shim is what kubectl searches for on the PATH when it completes plugins. The plugin is on it, kubectl may not be.
const shim = `#!/bin/sh
# Save as "` + command.Completer + `" in a directory of the PATH and make it executable.
exec kubectl-dbop __complete "$@"
`

func newCompletion(f *command.Factory) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell", "kubectl"}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a completion script",
		Long: `Print a completion script for bash, zsh, fish or powershell, or the program that kubectl calls to complete
'kubectl dbop' (kubectl 1.26 and newer). krew can't install that one: save it on the PATH as ` + command.Completer + `,
or link that name to this program.`,
		Example: `  # Complete 'kubectl dbop' through kubectl's own completion
  kubectl dbop completion kubectl > kubectl_complete-dbop
  # Put it on the PATH
  install kubectl_complete-dbop /usr/local/bin/

  # Load completion into the current bash
  source <(kubectl-dbop completion bash)`,
		Args:              command.Arguments(1, 1, "the SHELL"),
		ValidArgs:         shells,
		ValidArgsFunction: cobra.FixedCompletions(shells, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			root, w := cmd.Root(), f.Streams.Out
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(w, true)
			case "zsh":
				return root.GenZshCompletion(w)
			case "fish":
				return root.GenFishCompletion(w, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(w)
			case "kubectl":
				_, err := fmt.Fprint(w, shim)
				return err
			}
			return exit.Misuse("shell %q is not known, choose one of: bash, zsh, fish, powershell, kubectl", args[0])
		},
	}
}
