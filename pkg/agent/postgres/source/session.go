package source

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
)

// Session is one session at the source.
type Session struct {
	conn *pgconn.PgConn
	// database is the one that it is in.
	database string
}

// Open opens a session in a database. It writes even where transactions are read-only by default.
func (s Source) Open(ctx context.Context, database string) (*Session, error) {
	conn, err := s.Connect(ctx, database, map[string]string{"default_transaction_read_only": "off",
		"synchronous_commit": "on", "search_path": "pg_catalog"})
	if err != nil {
		return nil, err
	}
	return &Session{conn: conn, database: database}, nil
}

// Close ends the session.
func (s *Session) Close() {
	ctx, stop := context.WithTimeout(context.Background(), closeTime)
	defer stop()
	_ = s.conn.Close(ctx) // it may be broken
}

// Ask sends statements in one message, and returns the rows of each.
func (s *Session) Ask(ctx context.Context, statements string) (local.Rows, error) {
	answer, err := local.Ask(ctx, s.conn, statements)
	if err != nil {
		return nil, fmt.Errorf("the database %q of the source: %w", s.database, err)
	}
	return answer, nil
}
