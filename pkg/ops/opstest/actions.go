package opstest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// Actions are all that the constants of package ops name, read from its source: a list by hand would miss the newest.
func Actions(t *testing.T) []ops.Action {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../step.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []ops.Action
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != "Action" {
			return true
		}
		for _, v := range spec.Values {
			name, err := strconv.Unquote(v.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, ops.Action(name))
		}
		return true
	})
	return out
}
