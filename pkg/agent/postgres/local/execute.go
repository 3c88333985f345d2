package local

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
)

// Quiet keeps the text of the statements after it out of the log. That of an error in a block is in its context.
const Quiet = "SET log_statement = none; SET log_min_duration_statement = -1; SET log_min_error_statement = panic;" +
	" SET log_min_messages = fatal;"

// Execute runs statements in one transaction, and waits for standbys as every write does. Their text never goes to the
// log. What the server refuses is an api.Refused.
func (s Server) Execute(ctx context.Context, what string, statements []string) error {
	return s.ExecuteIn(ctx, "postgres", what, statements)
}

// ExecuteIn does so in a database.
func (s Server) ExecuteIn(ctx context.Context, database, what string, statements []string) error {
	_, err := s.OnceIn(ctx, database, Quiet+" BEGIN; "+strings.Join(statements, "; ")+"; COMMIT")
	return RefusedBy(what, err)
}

// RefusedBy tells an answer of the server, which becomes an api.Refused, from a broken connection.
func RefusedBy(what string, err error) error {
	if answer, ok := errors.AsType[*pgconn.PgError](err); ok {
		return api.Refused{Why: fmt.Sprintf("%s: %s", what, answer.Message)}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
