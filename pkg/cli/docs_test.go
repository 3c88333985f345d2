package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
)

// page is a document of the project that tells people what to type.
type page struct{ path, text string }

// pages are all of them but the reference, which is generated.
func pages(t *testing.T) []page {
	t.Helper()
	root := filepath.Join("..", "..")
	var out []page
	for _, pattern := range []string{"*.md", "docs/*.md", "deploy/chart/templates/NOTES.txt", "krew/*.yaml"} {
		found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, page{strings.TrimPrefix(filepath.ToSlash(path), "../../"), string(raw)})
		}
	}
	if len(out) < 10 {
		t.Fatalf("only %d documents were found", len(out))
	}
	return out
}

// TestDocumentedCommands: every command line in the documents, in a block or
// in a sentence, is one that this program takes.
func TestDocumentedCommands(t *testing.T) {
	b, lines := clitest.New(t), 0
	for _, p := range pages(t) {
		for _, line := range commandLines(p.text) {
			lines++
			if problem := judgeLine(cli.NewRoot(b.Factory(&bytes.Buffer{}, &bytes.Buffer{}, nil)), line); problem != "" {
				t.Errorf("%s: %q: %s", p.path, line, problem)
			}
		}
	}
	if lines < 40 {
		t.Errorf("only %d command lines were found", lines)
	}
}

// commandLines finds what begins with the name of the program: a line of a
// block or a piece of code in a sentence, up to what belongs to the shell.
func commandLines(text string) []string {
	text = strings.ReplaceAll(text, "\\\n", " ")
	var out []string
	for _, m := range regexp.MustCompile("(?m)(^[ \t]*(\\$ )?|`)"+command.DisplayName+
		"( [^`\n]*|$)").FindAllStringSubmatch(text, -1) {
		line := m[3]
		if m[1] != "`" && strings.Contains(line, ": ") {
			continue // a sentence that happens to begin a line
		}
		for _, end := range []string{" # ", "  #", " | ", " > ", " >", " && ", " 2>", ";", " (", "$(", "...", "{{"} {
			line, _, _ = strings.Cut(line, end)
		}
		out = append(out, strings.TrimSpace(strings.NewReplacer("[", "", "]", "", "'", "").Replace(line)))
	}
	return out
}

// judgeLine says what is wrong with the words after the program's name.
func judgeLine(root *cobra.Command, line string) string {
	words := shellWords(line)
	// Words that stand for one of many, as in 'plan VERB'.
	if slices.ContainsFunc(words, func(w string) bool { return w == "VERB" || w == "COMMAND" || w == "…" }) {
		return ""
	}
	cmd, args, err := root.Find(words)
	if err != nil {
		return err.Error()
	}
	if cmd == root && len(args) > 0 && !strings.HasPrefix(args[0], "-") || cmd.HasSubCommands() && !cmd.HasParent() &&
		len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		return "there is no such command"
	}
	if slices.Contains(args, "--help") {
		return ""
	}
	if err := cmd.ParseFlags(args); err != nil {
		return err.Error()
	}
	// A sentence may name a command without what it works on.
	given := cmd.Flags().Args()
	if len(given) == 0 {
		return ""
	}
	if err := cmd.ValidateArgs(given); err != nil {
		return err.Error()
	}
	return ""
}

func TestJudgeLine(t *testing.T) {
	b := clitest.New(t)
	for line, want := range map[string]string{
		"upgrade my-db --version 3.7":       "",
		"plan upgrade my-db --version 3.7":  "",
		"plan VERB":                         "",
		`backup schedule my-db "0 2 * * *"`: "",
		"upgrad my-db":                      "no such command",
		"upgrade my-db --versions 3.7":      "unknown flag",
		"upgrade my-db other --version 3":   "too many",
		"backup":                            "",
	} {
		got := judgeLine(cli.NewRoot(b.Factory(&bytes.Buffer{}, &bytes.Buffer{}, nil)), line)
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// TestCommandLines: what is found in a document.
func TestCommandLines(t *testing.T) {
	t.Parallel()
	text := "Type `kubectl dbop list -A` or\n```\n$ kubectl dbop status my-db   # one screen\nkubectl dbop backup " +
		"my-db \\\n  --verify && echo done\n```\nkubectl get pods\n"
	want := []string{"list -A", "status my-db", "backup my-db    --verify"}
	if got := commandLines(text); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestDocumentedLinks: every page that another one points at is there.
func TestDocumentedLinks(t *testing.T) {
	t.Parallel()
	for _, p := range pages(t) {
		for _, m := range regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`).FindAllStringSubmatch(p.text, -1) {
			if _, err := os.Stat(filepath.Join("..", "..", filepath.Dir(p.path), m[1])); err != nil {
				t.Errorf("%s points at %s, which is not there", p.path, m[1])
			}
		}
	}
}

// TestTroubleshooting: the words by which a person finds advice are words that this program says.
func TestTroubleshooting(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "troubleshooting.md"))
	if err != nil {
		t.Fatal(err)
	}
	source := productSource(t)
	keys := regexp.MustCompile("(?m)^- `([^`]+)`: ").FindAllStringSubmatch(string(raw), -1)
	if len(keys) < 15 {
		t.Errorf("only %d entries were found", len(keys))
	}
	for _, key := range keys {
		if !strings.Contains(source, key[1]) {
			t.Errorf("nothing says %q any more", key[1])
		}
	}
}

// TestVariablesAreDocumented: no variable changes what happens without standing in the list.
func TestVariablesAreDocumented(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "conventions.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range regexp.MustCompile(`"(DBOP_[A-Z_]+)"`).FindAllStringSubmatch(productSource(t), -1) {
		if !strings.Contains(string(raw), "`"+name[1]+"`") && !strings.HasPrefix(name[1], "DBOP_TEST_") {
			t.Errorf("%s is not in docs/conventions.md", name[1])
		}
	}
}

// productSource is all code of the program, tests aside.
func productSource(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir("..", func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		raw, err := os.ReadFile(path)
		out.Write(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestRunBlocks: a block that says it is run is in the document that is run.
func TestRunBlocks(t *testing.T) {
	t.Parallel()
	for _, p := range pages(t) {
		if strings.Contains(p.text, "```console") && p.path != "docs/getting-started.md" {
			t.Errorf("%s has a block of 'console': no test runs it; call it 'sh'", p.path)
		}
	}
}
