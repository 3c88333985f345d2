package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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

// inGo matches what the standard library says of a value that it can't parse.
var inGo = regexp.MustCompile(`: (strconv\.\w+: parsing "[^"]*"|time): (invalid syntax|value out of range|.*)$`)

// plainFlagError says in plain words what is wrong with a flag. It never quotes
// what begins with "-": that may be another flag, with a credential as its value.
func plainFlagError(err error) string {
	var (
		value   *pflag.InvalidValueError
		unknown *pflag.NotExistError
		syntax  *pflag.InvalidSyntaxError
	)
	switch {
	case errors.As(err, &value) && strings.HasPrefix(value.GetValue(), "-"):
		return "--" + value.GetFlag().Name + " has no value: what follows it begins with \"-\""
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		return "unknown flag: -" + unknown.GetSpecifiedName()
	case errors.As(err, &syntax):
		return "a flag has no name: it begins with --- or --="
	}
	text := err.Error()
	if inGo.MatchString(text) && strings.Contains(text, "value out of range") {
		return inGo.ReplaceAllString(text, ": it is too large")
	}
	return inGo.ReplaceAllString(text, ": it is not of the type that the flag takes")
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
