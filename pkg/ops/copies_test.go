package ops

import (
	"errors"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

func TestJudgeCopies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sums       string
		kind       Kind
		says, hint string
	}{
		"all agree":                 {sums: "aaa"},
		"one alone":                 {sums: "a"},
		"one differs":               {"aba", Refused, "the data of db-2 differs", "kubectl dbop replace-member db db-2 --force"},
		"the first differs":         {"baa", Refused, "the data of db-1 differs", "kubectl dbop replace-member db db-1 --force"},
		"two of five differ":        {"aabca", Refused, "the data of db-3, db-4 differs", "kubectl dbop replace-member db db-3 --force"},
		"each its own":              {"abc", NeedsHuman, "no majority", "kubectl dbop restore db --in-place"},
		"two halves":                {"aabb", NeedsHuman, "no majority", "kubectl dbop restore db --in-place"},
		"most of five, no majority": {"aabcd", NeedsHuman, "no majority", "kubectl dbop restore db --in-place"},
	} {
		var copies []engine.Copy
		for i, sum := range c.sums {
			copies = append(copies, engine.Copy{Member: "db-" + string(rune('1'+i)), Sum: string(sum)})
		}
		err := judgeCopies("db", copies)
		if c.kind == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Kind != c.kind || !strings.Contains(e.Message, c.says) || !strings.Contains(e.Hint, c.hint) {
			t.Errorf("%s: %+v", name, err)
		}
	}
}
