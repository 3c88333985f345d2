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
)

// writeManual writes one manual page per visible command, in section 1. The
// pages depend on the command tree and on the version alone.
func writeManual(root *cobra.Command, dir, version string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { // #nosec G301 -- documentation is for everybody
		return fmt.Errorf("write the manual: %w", err)
	}
	return visit(root, func(cmd *cobra.Command) error {
		page := &bytes.Buffer{}
		writeManPage(page, cmd, version)
		return writePublic(filepath.Join(dir, manName(cmd)+".1"), page.Bytes())
	})
}

// manName is what a person gives to man.
func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

func writeManPage(w io.Writer, cmd *cobra.Command, version string) {
	fmt.Fprintf(w, ".TH %q 1 \"\" %q \"Kubernetes plugins\"\n", strings.ToUpper(manName(cmd)), "kubectl-dbop "+version)
	fmt.Fprintf(w, ".SH NAME\n%s \\- %s\n", roff(manName(cmd)), roff(cmd.Short))
	fmt.Fprintf(w, ".SH SYNOPSIS\n.nf\n%s\n.fi\n", roff(cmd.UseLine()))
	fmt.Fprintf(w, ".SH DESCRIPTION\n%s\n", roff(strings.ReplaceAll(strings.TrimSpace(cmd.Long), "\n\n", "\n.PP\n")))
	if flags := cmd.NonInheritedFlags(); flags.HasAvailableFlags() {
		fmt.Fprint(w, ".SH OPTIONS\n")
		flags.VisitAll(func(f *pflag.Flag) { writeManFlag(w, f) })
	}
	if cmd.Example != "" {
		fmt.Fprintf(w, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(cmd.Example))
	}
	if !cmd.HasParent() {
		fmt.Fprint(w, ".SH COMMANDS\n")
		for _, child := range cmd.Commands() {
			if !child.Hidden && child.Name() != "help" {
				fmt.Fprintf(w, ".TP\n.BR %s (1)\n%s\n", roff(manName(child)), roff(child.Short))
			}
		}
		return
	}
	fmt.Fprintf(w, ".SH SEE ALSO\n.BR %s (1)\n", roff(manName(cmd.Root())))
}

func writeManFlag(w io.Writer, f *pflag.Flag) {
	if f.Hidden || f.Name == "help" {
		return
	}
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	if value := strings.Trim(defaultText(f), "`"); value != "" {
		name += "=" + value
	}
	fmt.Fprintf(w, ".TP\n.B %s\n%s\n", roff(name), roff(f.Usage))
}

// roff keeps text from being read as requests: a backslash and a hyphen mean
// what they are, and no line but ours begins with a dot or an apostrophe.
func roff(s string) string {
	lines := strings.Split(strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s), "\n")
	for i, line := range lines {
		if line != ".PP" && (strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'")) {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
