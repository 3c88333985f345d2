package local

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Session is one that is opened when it is needed, and again after an error. Several goroutines
// may use it.
type Session struct {
	Conninfo string

	mu   sync.Mutex
	conn *pgconn.PgConn
}

// Rows are the answers of several statements: rows[i][j][k] is column k of row j of statement i.
type Rows [][][]string

// Ask sends statements in one message.
func (s *Session) Ask(ctx context.Context, statements string) (Rows, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil || s.conn.IsClosed() {
		conn, err := Dial(ctx, s.Conninfo)
		if err != nil {
			return nil, err
		}
		s.conn = conn
	}
	answer, err := Ask(ctx, s.conn, statements)
	if err != nil {
		s.drop()
	}
	return answer, err
}

func (s *Session) drop() {
	if s.conn == nil {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer stop()
	_ = s.conn.Close(ctx) // it may be broken
	s.conn = nil
}

// Close ends the session. A later question opens it again.
func (s *Session) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop()
}

// Dial opens one session; conninfo is as libpq takes it.
func Dial(ctx context.Context, conninfo string) (*pgconn.PgConn, error) {
	config, err := pgconn.ParseConfig(conninfo)
	if err != nil {
		return nil, fmt.Errorf("read how to connect to a server: %w", err)
	}
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect to a server: %w", err)
	}
	return conn, nil
}

// Ask sends statements in one message of a session.
func Ask(ctx context.Context, conn *pgconn.PgConn, statements string) (Rows, error) {
	results, err := conn.Exec(ctx, statements).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("ask the server: %w", err)
	}
	answer := make(Rows, len(results))
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

// Once opens a session of its own for some statements.
func (s Server) Once(ctx context.Context, statements string) (Rows, error) {
	return s.OnceIn(ctx, "postgres", statements)
}

// OnceIn does so in a database.
func (s Server) OnceIn(ctx context.Context, database, statements string) (Rows, error) {
	conn, err := s.Enter(ctx, database)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	return Ask(ctx, conn, statements)
}

// Enter opens a session in a database.
func (s Server) Enter(ctx context.Context, database string) (*pgconn.PgConn, error) {
	return Dial(ctx, s.Session(s.Port, database, "agent"))
}

// Answered says whether the server itself answered, with an error: it is alive.
func Answered(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code[:2] != "57"
}
