package etcd

import (
	"fmt"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// JudgeCopies asks that all members have the same data. A minority that
// differs is to be replaced; without a majority nobody but a person can say
// whose data is right.
func JudgeCopies(cluster string, copies []engine.Copy) error {
	with := map[string][]string{}
	for _, c := range copies {
		with[c.Sum] = append(with[c.Sum], c.Member)
	}
	if len(with) <= 1 {
		return nil
	}
	var words, differ []string
	right := ""
	for _, c := range copies {
		words = append(words, c.Member+" has "+c.Sum)
		if len(with[c.Sum]) >= ops.Majority(len(copies)) {
			right = c.Sum
		}
	}
	if right == "" {
		return &ops.Error{Kind: ops.NeedsHuman, Check: "damage",
			Message: fmt.Sprintf("no majority of the members of %s has the same data (%s), so nobody can tell which is right",
				cluster, strings.Join(words, "; ")),
			Hint: fmt.Sprintf(
				"go back to a backup from before: kubectl dbop restore %s --in-place --from BACKUP; kubectl dbop backup list "+
					"shows which there are", cluster)}
	}
	for _, c := range copies {
		if c.Sum != right {
			differ = append(differ, c.Member)
		}
	}
	return &ops.Error{Kind: ops.Refused, Check: "damage",
		Message: fmt.Sprintf("the data of %s differs from that of the majority (%s)", strings.Join(differ, ", "),
			strings.Join(words, "; ")),
		Hint: fmt.Sprintf("replace it: kubectl dbop member replace %s %s --force; and repeat the command then", cluster,
			differ[0])}
}
