package ops

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// TestDisturbs: whom a step concerns decides, and whether the backup still needs its member.
func TestDisturbs(t *testing.T) {
	t.Parallel()
	taking := &v1alpha1.Operation{Spec: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbBackup}}
	taken, scheduled := taking.DeepCopy(), taking.DeepCopy()
	taken.Status.Facts = map[string]string{v1alpha1.FactBackup: "b1"}
	scheduled.Spec.Scheduled = true
	restart := Step{Action: ActionRestart, Members: []string{"db-1"}}
	handOver := Step{Action: ActionHandOver, Members: []string{"db-1"}, To: "db-2"}
	for name, c := range map[string]struct {
		step   Step
		backup *v1alpha1.Operation
		source string
		want   bool
	}{
		"its source restarts":                    {restart, taking, "db-1", true},
		"another member restarts":                {restart, taking, "db-2", false},
		"one that is not known may":              {restart, taking, "", true},
		"its source restarts, after it is taken": {restart, taken, "db-1", false},
		"its source hands over":                  {handOver, taking, "db-1", true},
		"its source takes over":                  {handOver, taking, "db-2", true},
		"others hand over":                       {handOver, taking, "db-3", false},
		"a failover":                             {Step{Action: ActionFailOver, To: "db-2"}, taking, "db-3", true},
		"another backup":                         {Step{Action: ActionBackup}, taking, "db-1", true},
		"another backup, after it is taken":      {Step{Action: ActionBackup}, taken, "db-1", false},
		"no schedule any more":                   {Step{Action: ActionUnschedule}, taking, "db-1", false},
		"no schedule any more, of a run":         {Step{Action: ActionUnschedule}, scheduled, "db-1", true},
		"the end":                                {Step{Action: ActionDeleteAll}, taken, "db-1", true},
		"a wait":                                 {Step{Action: ActionWait}, taking, "db-1", false},
		"what nobody knows":                      {Step{Action: "else"}, taken, "db-1", true},
	} {
		if got := c.step.Disturbs(c.backup, c.source); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestDisturbances: each action has a class.
func TestDisturbances(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "step.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	count, all := 0, disturbances()
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
			count++
			if all[Action(name)] == 0 {
				t.Errorf("%s has no class", name)
			}
		}
		return true
	})
	if count == 0 || count != len(all) {
		t.Errorf("%d actions, %d classes", count, len(all))
	}
}
