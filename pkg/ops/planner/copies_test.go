package planner

import (
	"errors"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/operation/etcd"
)

func TestJudgeCopies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sums       string
		kind       ops.Kind
		says, hint string
	}{
		"all agree": {sums: "aaa"},
		"one alone": {sums: "a"},
		"one differs": {"aba", ops.Refused, "the data of db-2 differs",
			"kubectl dbop member replace db db-2 --force"},
		"the first differs": {"baa", ops.Refused, "the data of db-1 differs",
			"kubectl dbop member replace db db-1 --force"},
		"two of five differ": {"aabca", ops.Refused, "the data of db-3, db-4 differs",
			"kubectl dbop member replace db db-3 --force"},
		"each its own":              {"abc", ops.NeedsHuman, "no majority", "kubectl dbop restore db --in-place"},
		"two halves":                {"aabb", ops.NeedsHuman, "no majority", "kubectl dbop restore db --in-place"},
		"most of five, no majority": {"aabcd", ops.NeedsHuman, "no majority", "kubectl dbop restore db --in-place"},
	} {
		var copies []engine.Copy
		for i, sum := range c.sums {
			copies = append(copies, engine.Copy{Member: "db-" + string(rune('1'+i)), Sum: string(sum)})
		}
		err := etcd.JudgeCopies("db", copies)
		if c.kind == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		e, ok := errors.AsType[*ops.Error](err)
		if !ok || e.Kind != c.kind || !strings.Contains(e.Message, c.says) || !strings.Contains(e.Hint, c.hint) {
			t.Errorf("%s: %+v", name, err)
		}
	}
}
