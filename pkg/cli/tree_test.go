package cli_test

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

// walk visits every command of a fresh tree.
func walk(t *testing.T, visit func(t *testing.T, cmd *cobra.Command)) {
	t.Helper()
	b := clitest.New(t)
	root := cli.NewRoot(b.Factory(&bytes.Buffer{}, &bytes.Buffer{}, nil))
	var each func(*cobra.Command)
	each = func(cmd *cobra.Command) {
		t.Run(strings.ReplaceAll(cmd.CommandPath(), " ", "/"), func(t *testing.T) { visit(t, cmd) })
		for _, child := range cmd.Commands() {
			each(child)
		}
	}
	each(root)
}

func TestNamesAreLowerCaseWithHyphens(t *testing.T) {
	name := regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	walk(t, func(t *testing.T, cmd *cobra.Command) {
		if !name.MatchString(cmd.Name()) {
			t.Errorf("command %q", cmd.Name())
		}
		if len(cmd.Aliases) > 0 {
			t.Errorf("aliases %v", cmd.Aliases)
		}
		cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			if !name.MatchString(f.Name) {
				t.Errorf("flag %q", f.Name)
			}
		})
	})
}

func TestLettersMeanOneThing(t *testing.T) {
	letters, names := map[string]string{}, map[string]string{}
	walk(t, func(t *testing.T, cmd *cobra.Command) {
		cmd.InheritedFlags() // merges the persistent flags of all parents into Flags
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Shorthand == "" {
				return
			}
			if other, ok := letters[f.Shorthand]; ok && other != f.Name {
				t.Errorf("-%s is --%s here and --%s elsewhere", f.Shorthand, f.Name, other)
			}
			if other, ok := names[f.Name]; ok && other != f.Shorthand {
				t.Errorf("--%s is -%s here and -%s elsewhere", f.Name, f.Shorthand, other)
			}
			letters[f.Shorthand], names[f.Name] = f.Name, f.Shorthand
		})
	})
	for letter, name := range map[string]string{"n": "namespace", "A": "all-namespaces", "l": "selector", "o": "output",
		"f": "follow", "w": "watch", "p": "previous"} {
		if letters[letter] != name {
			t.Errorf("-%s is %q, kubectl's is %q", letter, letters[letter], name)
		}
	}
}

func TestGlobalFlagsAreKubectls(t *testing.T) {
	b := clitest.New(t)
	root := cli.NewRoot(b.Factory(&bytes.Buffer{}, &bytes.Buffer{}, nil))
	for _, name := range []string{"namespace", "context", "kubeconfig", "as", "request-timeout"} {
		if root.PersistentFlags().Lookup(name) == nil {
			t.Errorf("--%s is missing", name)
		}
	}
}

func TestHelpTexts(t *testing.T) {
	walk(t, func(t *testing.T, cmd *cobra.Command) {
		first := []rune(cmd.Short)[0]
		if !unicode.IsUpper(first) || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("Short is %q", cmd.Short)
		}
		if !strings.HasSuffix(strings.TrimSpace(cmd.Long), ".") && cmd.Long != "" {
			t.Errorf("Long does not end in a full stop: %q", cmd.Long)
		}
		if cmd.HasSubCommands() && cmd.Example == "" || cmd.Name() == "help" {
			return
		}
		checkExample(t, cmd)
	})
}

// checkExample parses each line of an example against the command's own flags.
func checkExample(t *testing.T, cmd *cobra.Command) {
	t.Helper()
	commented, lines := false, 0
	for line := range strings.Lines(cmd.Example) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			continue
		case strings.HasPrefix(line, "#"):
			text := strings.TrimSpace(strings.TrimPrefix(line, "#"))
			if !unicode.IsUpper([]rune(text)[0]) && !unicode.IsPunct([]rune(text)[0]) {
				t.Errorf("comment %q does not begin with a capital", line)
			}
			commented = true
			continue
		case strings.Contains(line, "$"):
			t.Errorf("%q holds a $", line)
		case !commented:
			t.Errorf("%q has no comment above", line)
		}
		commented = false
		lines++
		line, _, _ = strings.Cut(line, " > ")
		rest, ok := strings.CutPrefix(line, command.DisplayName+" ")
		if !ok {
			continue
		}
		found, args, err := cmd.Root().Find(shellWords(rest))
		if err != nil || found != cmd && !cmd.HasSubCommands() {
			t.Errorf("%q finds %q, %v", line, found.CommandPath(), err)
			continue
		}
		if err := found.ParseFlags(args); err != nil {
			t.Errorf("%q: %v", line, err)
		}
		if err := found.ValidateArgs(found.Flags().Args()); err != nil {
			t.Errorf("%q: %v", line, err)
		}
	}
	if lines == 0 {
		t.Error("no example")
	}
}

// shellWords splits a line as a shell does, quotes and no more.
func shellWords(line string) []string {
	var out []string
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			out = append(out, part)
			continue
		}
		out = append(out, strings.Fields(part)...)
	}
	return out
}

func TestCommandsAreGrouped(t *testing.T) {
	b := clitest.New(t)
	root := cli.NewRoot(b.Factory(&bytes.Buffer{}, &bytes.Buffer{}, nil))
	for _, c := range root.Commands() {
		if !c.Hidden && c.Name() != "help" && c.GroupID == "" {
			t.Errorf("%s is in no group", c.Name())
		}
	}
}

func TestVariablesAreNamedInHelp(t *testing.T) {
	for _, variable := range []string{command.EnvRegistry, command.EnvHelperImage, command.EnvRepository} {
		named := false
		walk(t, func(_ *testing.T, cmd *cobra.Command) {
			cmd.Flags().VisitAll(func(f *pflag.Flag) { named = named || strings.Contains(f.Usage, variable) })
		})
		if !named {
			t.Errorf("%s is named in no flag's help", variable)
		}
	}
}

func TestChangingCommandsShareTheirFlags(t *testing.T) {
	b := clitest.New(t)
	root := cli.NewRoot(b.Factory(&bytes.Buffer{}, &bytes.Buffer{}, nil))
	for _, path := range changingCommands() {
		cmd, _, err := root.Find(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"dry-run", "timeout", "output", "progress", "error-unchanged"} {
			if cmd.Flags().Lookup(name) == nil {
				t.Errorf("%v has no --%s", path, name)
			}
		}
	}
}

func changingCommands() [][]string {
	return [][]string{{"create"}, {"add-member"}, {"member", "add"}, {"member", "remove"}, {"scale"}, {"upgrade"},
		{"downgrade"}, {"backup"}, {"backup", "verify"}, {"backup", "schedule"},
		{"backup", "delete"}, {"restore"}, {"delete"}, {"resume"}, {"cancel"}, {"member", "replace"}, {"switchover"},
		{"failover"}, {"hold"}, {"cutover"}, {"follow"},
		{"restart"}, {"repair"}, {"stop"}, {"start"}, {"defrag"}, {"compact"}, {"alarms", "clear"},
		{"user", "auth", "enable"}, {"user", "auth", "disable"}, {"user", "create"}, {"user", "delete"}, {"user", "rotate"},
		{"certificates", "rotate"}, {"recover"}, {"configure"}, {"resize"}, {"pause"}, {"undo"},
		{"drop-volumes"}}
}

// TestChangesHaveAPlan: plan has every changing command but those that act on
// what is in flight, or on a repository alone.
func TestChangesHaveAPlan(t *testing.T) {
	b := clitest.New(t)
	root := cli.NewRoot(b.Factory(&bytes.Buffer{}, &bytes.Buffer{}, nil))
	without := []string{"resume", "cancel", "pause", "backup verify", "backup delete"}
	for _, path := range changingCommands() {
		found, rest, err := root.Find(append([]string{"plan"}, path...))
		if got := err == nil && len(rest) == 0; got == slices.Contains(without, strings.Join(path, " ")) {
			t.Errorf("plan %v is %s, %v, %v", path, found.CommandPath(), rest, err)
		}
		if found != nil && found.Flags().Lookup("dry-run") != nil {
			t.Errorf("%s has --dry-run", found.CommandPath())
		}
	}
}

// TestNoChangingCommandIsForgotten keeps the list above complete. What installs
// an operator, or adds a repository, changes no database and has no plan.
func TestNoChangingCommandIsForgotten(t *testing.T) {
	known := append(changingCommands(), []string{"backup", "prune"}, []string{"operator", "install"},
		[]string{"operator", "upgrade"},
		[]string{"operator", "uninstall"}, []string{"repository", "add"}, []string{"repository", "remove"})
	walk(t, func(t *testing.T, cmd *cobra.Command) {
		if cmd.Flags().Lookup("dry-run") == nil {
			return
		}
		path := strings.Fields(strings.TrimPrefix(cmd.CommandPath(), command.DisplayName+" "))
		if !slices.ContainsFunc(known, func(k []string) bool { return slices.Equal(k, path) }) {
			t.Errorf("%v is not in the list", path)
		}
	})
}

func TestHelpSaysKubectlDbop(t *testing.T) {
	b := clitest.New(t)
	r := b.Run("create", "--help")
	if r.Code != exit.Done || !strings.Contains(r.Out, "kubectl dbop create NAME --engine ENGINE") {
		t.Errorf("exit %d\n%s", r.Code, r.Out)
	}
}
