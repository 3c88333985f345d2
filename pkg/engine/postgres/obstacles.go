package postgres

import (
	"fmt"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// mostObstacles is how many a refusal names.
const mostObstacles = 5

// checkObstacles refuses to convert data while the primary names something that pg_upgrade would refuse: otherwise that
// would show once the members are stopped.
func checkObstacles(v engine.View) error {
	leader, _ := v.Leader()
	all := leader.Obstacles
	if len(all) == 0 {
		return nil
	}
	var names []string
	for _, o := range all[:min(len(all), mostObstacles)] {
		names = append(names, o.What)
	}
	if more := len(all) - mostObstacles; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	where := "kubectl dbop connect " + clusterName(v)
	if all[0].Database != "" {
		where += " -- --dbname " + quoted(all[0].Database)
	}
	return &engine.Refusal{Check: "obstacles", Reason: "data is not converted with " + strings.Join(names, ", "),
		Hint: fmt.Sprintf("end the first with %s; type that in: %s", strings.Join(all[0].Statements, " or "), where)}
}

// quoted is one word of a shell.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
