package operatorcmd

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/deploy"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// operatorSheet is what operator status says, for machines.
type operatorSheet struct {
	Namespace string `json:"namespace"`
	Installed bool   `json:"installed"`
	Ready     int64  `json:"ready"`
	Wanted    int64  `json:"wanted"`
	Image     string `json:"image,omitempty"`
}

func newOperatorStatus(f *command.Factory) *cobra.Command {
	out := printer.NewOutput()
	sheet := operatorSheet{}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show whether an operator is installed and ready",
		Long: "Show whether an operator is installed and ready. The exit code is 0 if it is, 6 if none is, and 10 in " +
			"between.",
		Example: `  # Is there an operator?
  kubectl dbop operator status`,
		Args: command.Arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			sheet.Ready, sheet.Wanted, sheet.Image, err = f.Clients.Rollout(cmd.Context(), sheet.Namespace, deploy.Name)
			sheet.Installed = err == nil
			if err != nil && !errors.Is(err, kube.ErrNotFound) {
				return err
			}
			return sheet.show(f, out)
		},
	}
	out.AddTo(cmd)
	cmd.Flags().StringVar(&sheet.Namespace, "operator-namespace", deploy.Namespace, "Namespace of the operator.")
	return cmd
}

func (s operatorSheet) show(f *command.Factory, out *printer.Output) error {
	switch {
	case !out.Human():
		if err := out.Print(f.Streams.Out, "OperatorStatus", s); err != nil {
			return err
		}
	case !s.Installed:
		fmt.Fprintf(f.Streams.Out, "no operator in namespace %s\n", s.Namespace)
	default:
		fmt.Fprintf(f.Streams.Out, "operator in namespace %s: %d of %d pods ready, %s\n", s.Namespace, s.Ready, s.Wanted,
			s.Image)
	}
	switch {
	case !s.Installed:
		return exit.Outcome(exit.NotFound)
	case s.Ready < s.Wanted:
		return exit.Outcome(exit.Degraded)
	}
	return nil
}
