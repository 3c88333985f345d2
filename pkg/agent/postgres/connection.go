//go:build linux

package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// connection is one session that is opened when it is needed, and again after an error.
type connection struct {
	conninfo string

	mu   sync.Mutex
	conn *pgconn.PgConn
}

// rows are the answers of several statements: rows[i][j][k] is column k of row j of statement i.
type rows [][][]string

// ask sends statements in one message.
func (c *connection) ask(ctx context.Context, statements string) (rows, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil || c.conn.IsClosed() {
		conn, err := dial(ctx, c.conninfo)
		if err != nil {
			return nil, err
		}
		c.conn = conn
	}
	answer, err := ask(ctx, c.conn, statements)
	if err != nil {
		c.drop()
	}
	return answer, err
}

func (c *connection) drop() {
	if c.conn == nil {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer stop()
	_ = c.conn.Close(ctx) // it may be broken
	c.conn = nil
}

func (c *connection) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop()
}

// dial opens one session; conninfo is as libpq takes it.
func dial(ctx context.Context, conninfo string) (*pgconn.PgConn, error) {
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

func ask(ctx context.Context, conn *pgconn.PgConn, statements string) (rows, error) {
	results, err := conn.Exec(ctx, statements).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("ask the server: %w", err)
	}
	answer := make(rows, len(results))
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

// writes has a session write also where transactions are read-only by default.
const writes = "-c default_transaction_read_only=off"

// once opens a session of its own for some statements.
func (s *Server) once(ctx context.Context, statements string) (rows, error) {
	return s.onceIn(ctx, "postgres", statements)
}

// onceIn does so in a database.
func (s *Server) onceIn(ctx context.Context, database, statements string) (rows, error) {
	conn, err := s.enter(ctx, database)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	return ask(ctx, conn, statements)
}

// enter opens a session in a database.
func (s *Server) enter(ctx context.Context, database string) (*pgconn.PgConn, error) {
	return dial(ctx, s.conninfo(s.Port, "dbname="+word(database)+" application_name=agent options='"+writes+"'"))
}

// answered says whether the server itself answered, with an error: it is alive.
func answered(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code[:2] != "57"
}
