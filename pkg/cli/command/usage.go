package command

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

// Arguments accepts between least and most positional arguments; what names
// them for the error.
func Arguments(least, most int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return exit.Misuse("%s is missing", what)
		case len(args) > most && most == 0:
			return exit.Misuse("no argument is expected, got %q", strings.Join(args, " "))
		case len(args) > most:
			return exit.Misuse("too many arguments: %q", strings.Join(args[most:], " "))
		}
		return nil
	}
}

// ParentOnly is the body of a command that only holds others.
func ParentOnly(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	err := exit.Misuse("unknown command %q for %q", args[0], cmd.CommandPath())
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		err.Advice = "did you mean " + cmd.CommandPath() + " " + near[0] + "?"
	}
	return err
}

// OneOf checks a flag that takes a word from a list.
func OneOf(flag, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return exit.Misuse("--%s=%s is not known, choose one of: %s", flag, value, strings.Join(allowed, ", "))
}
