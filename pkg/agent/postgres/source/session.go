package source

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
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
func (s *Session) Ask(ctx context.Context, statements string) ([][][]string, error) {
	results, err := s.conn.Exec(ctx, statements).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("ask the database %q of the source: %w", s.database, err)
	}
	answer := make([][][]string, len(results))
	for i, r := range results {
		for _, row := range r.Rows {
			columns := make([]string, len(row))
			for k, v := range row {
				columns[k] = string(v)
			}
			answer[i] = append(answer[i], columns)
		}
	}
	return answer, nil
}

// literal quotes for SQL: the E form says what a backslash is.
func literal(text string) string {
	return "E'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'"
}

// identifier quotes a name for SQL.
func identifier(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
