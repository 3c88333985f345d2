package cli_test

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

func TestSuggestedCommandsAreComplete(t *testing.T) {
	b := clitest.New(t)
	r := b.Run("scale", "nope", "--members", "3", "-n", "prod")
	if r.Code == exit.Done || !strings.Contains(r.Err, "kubectl dbop list -A") {
		t.Errorf("a command for all namespaces: exit %d\n%s", r.Code, r.Err)
	}
	b.CreateCluster("my-db")
	if r := b.Run("scale", "my-db", "--members", "5", "--progress", "none"); !strings.Contains(r.Err,
		"next: kubectl dbop -n shop status my-db") {
		t.Errorf("exit %d\n%s", r.Code, r.Err)
	}
	kubeconfig := os.Getenv("KUBECONFIG")
	want := "next: kubectl dbop --context demo --kubeconfig " + command.Words([]string{kubeconfig}) +
		" -n shop status my-db"
	if r := b.Run("scale", "my-db", "--members", "3", "--yes", "--progress", "none", "--context", "demo", "--kubeconfig",
		kubeconfig); !strings.Contains(r.Err, want) {
		t.Errorf("exit %d, want %q\n%s", r.Code, want, r.Err)
	}
	if r := b.Run("nonsense"); !strings.Contains(r.Err, "\nusage: kubectl dbop ") {
		t.Errorf("the usage is no command to complete:\n%s", r.Err)
	}
}

// TestShownCommandsAreComplete: whatever a golden file shows can be pasted.
func TestShownCommandsAreComplete(t *testing.T) {
	t.Parallel()
	found, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	rooms, err := filepath.Glob("*/testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	found = append(found, rooms...)
	about := regexp.MustCompile("^(help|usage|man_|reference_|completion_)")
	shown := 0
	for _, path := range found {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if about.MatchString(filepath.Base(path)) {
			continue
		}
		for line := range strings.Lines(string(raw)) {
			// What a person typed is told as it was.
			if !strings.Contains(line, "kubectl") || strings.HasPrefix(line, "Command:") ||
				strings.Contains(line, `"command":`) {
				continue
			}
			shown++
			if whole := ops.InNamespace(line, "shop"); whole != line {
				t.Errorf("%s: %q, want %q", path, line, whole)
			}
		}
	}
	if shown < 10 {
		t.Errorf("only %d commands were found", shown)
	}
}

// suggestion is a text of the source that holds a command.
type suggestion struct{ at, text string }

// suggestions are all texts of the product that name a command, put together
// from their parts; what is not known before it runs is an x.
func suggestions(t *testing.T) []suggestion {
	t.Helper()
	var out []suggestion
	files := token.NewFileSet()
	err := filepath.WalkDir("..", func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if field, ok := n.(*ast.KeyValueExpr); ok {
				if key, ok := field.Key.(*ast.Ident); ok && (key.Name == "Long" || key.Name == "Example") {
					return false // TestDocumentedCommands reads these in docs/reference
				}
			}
			e, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			text := put(e)
			if strings.Contains(text, command.DisplayName+" ") && !strings.Contains(text, "\n") {
				out = append(out, suggestion{files.Position(n.Pos()).String(), text})
				return false
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// put is the text that an expression makes, "" where it makes none that is known.
func put(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if e.Kind != token.STRING || err != nil {
			return ""
		}
		text = strings.ReplaceAll(text, "%d", "1")
		return regexp.MustCompile(`%[-+.0-9]*[a-z]`).ReplaceAllString(text, "x")
	case *ast.Ident:
		if e.Name == "displayName" {
			return command.DisplayName
		}
	case *ast.SelectorExpr:
		if e.Sel.Name == "DisplayName" {
			return command.DisplayName
		}
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			left, right := put(e.X), put(e.Y)
			if left+right != "" {
				return orX(left) + orX(right)
			}
		}
	}
	return ""
}

func orX(text string) string {
	if text == "" {
		return "x"
	}
	return text
}

// TestEverySuggestionIsACommand: each command inside a message is one that
// this program takes, and none ends a database or drops what it holds.
func TestEverySuggestionIsACommand(t *testing.T) {
	b := clitest.New(t)
	all := suggestions(t)
	commands := regexp.MustCompile(command.DisplayName + `( [^;,:'"` + "`" + `()]*)`)
	for _, s := range all {
		for _, m := range commands.FindAllStringSubmatch(s.text, -1) {
			line := strings.TrimSuffix(strings.TrimSpace(m[1]), ".")
			line, _, _ = strings.Cut(line, " kubectl")
			if line == "" || line == "--help" || strings.HasPrefix(line, "x") || strings.HasPrefix(line, "VERB") {
				continue
			}
			root := cli.NewRoot(b.Factory(&bytes.Buffer{}, &bytes.Buffer{}, nil))
			cmd, rest, err := root.Find(strings.Fields(line))
			if err == nil && cmd == root {
				t.Errorf("%s: %q is no command", s.at, line)
				continue
			}
			if err == nil {
				err = cmd.ParseFlags(rest)
			}
			if err != nil && !errors.Is(err, pflag.ErrHelp) {
				t.Errorf("%s: %q: %v", s.at, line, err)
			}
			// Only where the custom resource was deleted a person decides whether the cluster goes, too, and one
			// that never formed holds nothing.
			neverFormed := strings.HasPrefix(s.at, "../ops/wayback.go")
			if cmd.Name() == "delete" && cmd.Parent() == root && !neverFormed && !strings.Contains(s.text, "release") &&
				!strings.HasPrefix(s.text, "end it by hand") {
				t.Errorf("%s: %q suggests to delete a cluster", s.at, s.text)
			}
		}
	}
	if len(all) < 100 {
		t.Errorf("only %d texts were found", len(all))
	}
}

// TestNothingSuggestsToDropData: no message tells to delete an object that
// holds data or keys.
func TestNothingSuggestsToDropData(t *testing.T) {
	t.Parallel()
	drops := regexp.MustCompile(
		`kubectl delete (pvc|pv|persistentvolume|secret|configmap|cm|statefulset|sts|namespace|ns)\b`)
	for _, m := range drops.FindAllString(productSource(t), -1) {
		t.Errorf("a message says %q", m)
	}
}
