package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
)

// printError writes one line that says what is wrong, and one that says what
// to do next. Only a mistyped command is shown its usage.
func printError(w io.Writer, p printer.Palette, cmd *cobra.Command, err error) {
	if _, ok := errors.AsType[exit.Outcome](err); ok {
		return
	}
	fmt.Fprintf(w, "%s %s\n", p.Red("error:"), printer.OneLine(err.Error()))
	hint := command.HintOf(err)
	var wrong *exit.UsageError
	if errors.As(err, &wrong) && cmd != nil {
		if hint == "" {
			hint = cmd.CommandPath() + " --help"
		}
		defer fmt.Fprintf(w, "usage: %s\n", cmd.UseLine())
	}
	if hint != "" {
		fmt.Fprintf(w, "%s %s\n", p.Yellow("hint:"), printer.OneLine(hint))
	}
}
