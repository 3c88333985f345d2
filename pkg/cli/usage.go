package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// usageError is a mistake in how a command was typed.
type usageError struct {
	text string
	hint string
}

func (e *usageError) Error() string { return e.text }

// Hint is what to type instead.
func (e *usageError) Hint() string { return e.hint }

func misuse(format string, args ...any) *usageError {
	return &usageError{text: fmt.Sprintf(format, args...)}
}

// arguments accepts between least and most positional arguments; what names
// them for the error.
func arguments(least, most int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return misuse("%s is missing", what)
		case len(args) > most && most == 0:
			return misuse("no argument is expected, got %q", strings.Join(args, " "))
		case len(args) > most:
			return misuse("too many arguments: %q", strings.Join(args[most:], " "))
		}
		return nil
	}
}

// parentOnly is the body of a command that only holds others.
func parentOnly(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	err := misuse("unknown command %q for %q", args[0], cmd.CommandPath())
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		err.hint = "did you mean " + cmd.CommandPath() + " " + near[0] + "?"
	}
	return err
}

// oneOf checks a flag that takes a word from a list.
func oneOf(flag, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return misuse("--%s=%s is not known, choose one of: %s", flag, value, strings.Join(allowed, ", "))
}
