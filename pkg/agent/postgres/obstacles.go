//go:build linux

package postgres

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
)

// obstacles are what pg_upgrade refuses: transactions that wait for the second half of their commit, and databases of
// which an interrupted DROP DATABASE left a part.
func obstacles(prepared, half [][]string) (out []api.Obstacle) {
	for _, row := range prepared {
		id := local.Literal(row[0])
		out = append(out, api.Obstacle{What: fmt.Sprintf("the prepared transaction %q of the database %q", row[0], row[1]),
			Database: row[1], Statements: []string{"COMMIT PREPARED " + id, "ROLLBACK PREPARED " + id}})
	}
	for _, row := range half {
		out = append(out, api.Obstacle{What: fmt.Sprintf("what an interrupted DROP DATABASE left of %q", row[0]),
			Statements: []string{"DROP DATABASE " + local.Identifier(row[0])}})
	}
	return out
}
