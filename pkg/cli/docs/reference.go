package docs

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

// NewReference makes the command reference.
func NewReference(f *command.Factory) *cobra.Command {
	var dir string
	var manual bool
	cmd := &cobra.Command{
		Use:   "reference --dir DIR",
		Short: "Write the reference of all commands",
		Long: "Write the reference of all commands, one page each, as Markdown or as manual pages. It is part of the " +
			"build.",
		Hidden: true,
		Example: `  # Write the reference
  kubectl dbop reference --dir docs/reference`,
		Args: command.Arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir == "" {
				return exit.Misuse("--dir is required")
			}
			if manual {
				return writeManual(cmd.Root(), dir, f.Build.Version)
			}
			return writeReference(cmd.Root(), dir)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "Directory to write to; pages of commands that are gone are removed.")
	cmd.Flags().BoolVar(&manual, "man", false, "Write manual pages of section 1.")
	return cmd
}

// writeReference writes one page per visible command and an index. The pages
// depend on nothing but the command tree.
func writeReference(root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { // #nosec G301 -- documentation is for everybody
		return fmt.Errorf("write the reference: %w", err)
	}
	stale, err := filepath.Glob(filepath.Join(dir, "dbop*.md"))
	if err != nil {
		return fmt.Errorf("write the reference: %w", err)
	}
	for _, page := range stale {
		if err := os.Remove(page); err != nil {
			return fmt.Errorf("write the reference: %w", err)
		}
	}
	index := &bytes.Buffer{}
	fmt.Fprint(index, "# Command reference\n\nGenerated from the command tree by `make generate`.\n\n")
	err = visit(root, func(cmd *cobra.Command) error {
		fmt.Fprintf(index, "- [%s](%s): %s\n", cmd.CommandPath(), pageName(cmd), cmd.Short)
		page := &bytes.Buffer{}
		writePage(page, cmd)
		return writePublic(filepath.Join(dir, pageName(cmd)), page.Bytes())
	})
	if err != nil {
		return err
	}
	return writePublic(filepath.Join(dir, "README.md"), index.Bytes())
}

// visit calls write for every visible command, parents first.
func visit(cmd *cobra.Command, write func(*cobra.Command) error) error {
	if cmd.Hidden || cmd.Name() == "help" {
		return nil
	}
	if err := write(cmd); err != nil {
		return err
	}
	for _, child := range cmd.Commands() {
		if err := visit(child, write); err != nil {
			return err
		}
	}
	return nil
}

func writePublic(path string, content []byte) error {
	if err := os.WriteFile(path, content, 0o644); err != nil { // #nosec G306 -- documentation is for everybody
		return fmt.Errorf("write the reference: %w", err)
	}
	return nil
}

func pageName(cmd *cobra.Command) string {
	return strings.ReplaceAll(strings.TrimPrefix(cmd.CommandPath(), "kubectl "), " ", "_") + ".md"
}

func writePage(w io.Writer, cmd *cobra.Command) {
	fmt.Fprintf(w, "# %s\n\n%s\n\n", cmd.CommandPath(), strings.TrimSpace(cmd.Long))
	if cmd.Runnable() {
		fmt.Fprintf(w, "```\n%s\n```\n\n", cmd.UseLine())
	}
	if cmd.Example != "" {
		fmt.Fprintf(w, "## Examples\n\n```\n%s\n```\n\n", cmd.Example)
	}
	writeFlags(w, "Flags", cmd.NonInheritedFlags())
	if !cmd.HasParent() {
		return
	}
	fmt.Fprintf(w, "The flags for all commands are with [%s](%s).\n", cmd.Root().CommandPath(), pageName(cmd.Root()))
}

func writeFlags(w io.Writer, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(w, "## %s\n\n| Flag | Default | Meaning |\n|---|---|---|\n", title)
	flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Hidden || flag.Name == "help" {
			return
		}
		name := "`--" + flag.Name + "`"
		if flag.Shorthand != "" {
			name = "`-" + flag.Shorthand + "`, " + name
		}
		fmt.Fprintf(w, "| %s | %s | %s |\n", name, defaultText(flag), strings.ReplaceAll(flag.Usage, "|", `\|`))
	})
	fmt.Fprintln(w)
}

// defaultText hides a default that depends on who runs the generator.
func defaultText(flag *pflag.Flag) string {
	switch {
	case flag.DefValue == "", flag.DefValue == "[]":
		return ""
	case flag.Name == "cache-dir":
		return "`$HOME/.kube/cache`"
	}
	return "`" + flag.DefValue + "`"
}
