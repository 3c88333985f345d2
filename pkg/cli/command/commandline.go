package command

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Line is what repeats a command: its path, its arguments, and those of
// its flags that say what was requested. It goes into records, which every
// viewer of a namespace reads. Therefore it is built from the flags that this
// package declares for that very command, and --namespace. Kubectl's flags may hold
// credentials of the person, and none of them is taken.
func Line(cmd *cobra.Command, args []string) string {
	line := append(strings.Fields(cmd.CommandPath()), args...)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name == "namespace" || cmd.LocalNonPersistentFlags().Lookup(f.Name) != nil {
			line = append(line, asTyped(f)...)
		}
	})
	return Words(line)
}

// asTyped is a flag the way a person types it.
func asTyped(f *pflag.Flag) []string {
	name := "--" + f.Name
	var values []string
	switch v := f.Value.(type) {
	case pflag.SliceValue:
		values = v.GetSlice()
	default:
		values = []string{f.Value.String()}
		if f.Value.Type() == "stringToString" {
			values[0] = strings.TrimSuffix(strings.TrimPrefix(values[0], "["), "]")
		}
	}
	var out []string
	for _, value := range values {
		switch {
		case value == f.NoOptDefVal:
			out = append(out, name)
		case f.NoOptDefVal != "":
			out = append(out, name+"="+value)
		default:
			out = append(out, name, value)
		}
	}
	return out
}

// Words writes arguments as a shell reads them.
func Words(args []string) string {
	var out []string
	for _, a := range args {
		if a == "" || strings.ContainsAny(a, " \t\n'\"\\$&|;<>()*?`#~!") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		out = append(out, a)
	}
	return strings.Join(out, " ")
}
