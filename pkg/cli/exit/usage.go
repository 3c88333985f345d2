package exit

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/pflag"
)

// UsageError is a mistake in how a command was typed.
type UsageError struct {
	Text   string
	Advice string
}

func (e *UsageError) Error() string { return e.Text }

// Hint is what to type instead.
func (e *UsageError) Hint() string { return e.Advice }

// Misuse is a mistake in how a command was typed.
func Misuse(format string, args ...any) *UsageError {
	return &UsageError{Text: fmt.Sprintf(format, args...)}
}

// inGo matches what the standard library says of a value that it can't parse.
var inGo = regexp.MustCompile(`: (strconv\.\w+: parsing "[^"]*"|time): (invalid syntax|value out of range|.*)$`)

// PlainFlagError says in plain words what is wrong with a flag. It never quotes
// what begins with "-": that may be another flag, with a credential as its value.
func PlainFlagError(err error) string {
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
