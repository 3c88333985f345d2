package agent

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// ahead is how many rows a client sends before it reads the first answer.
const ahead = 30

// addRow adds one row, and returns the timeline and the place that the server says.
const addRow = "INSERT INTO rows VALUES ($1, " +
	"('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::int) " +
	"RETURNING timeline, pg_current_wal_insert_lsn() - '0/0'"

// pipeline writes at one member, whether that is the primary or not, and does not wait for an answer before it sends
// the next row. A server that was frozen finds them when it goes on.
func (c *clients) pipeline(ctx context.Context, m *member) {
	for ctx.Err() == nil {
		bound, stop := context.WithTimeout(ctx, 15*time.Second)
		conn, err := m.dial(bound, "app")
		for err == nil && ctx.Err() == nil {
			err = c.batch(bound, m, conn)
		}
		if conn != nil {
			_ = conn.Close(bound)
		}
		stop()
		pause(ctx, 50*time.Millisecond)
	}
}

// batch sends some rows, each of them a transaction, and reads the answers.
func (c *clients) batch(ctx context.Context, m *member, conn *pgconn.PgConn) error {
	ctx, stop := context.WithTimeout(ctx, 15*time.Second)
	defer stop()
	p := conn.StartPipeline(ctx)
	c.mu.Lock()
	first := c.next + 1
	c.next += ahead
	for id := first; id < first+ahead; id++ {
		c.asked[id] = true
		p.SendQueryParams(addRow, [][]byte{[]byte(strconv.Itoa(id))}, nil, nil, nil)
		p.SendPipelineSync()
	}
	c.mu.Unlock()
	began := time.Since(c.began)
	err := p.Flush()
	for id := first; err == nil && id < first+ahead; id++ {
		err = c.answer(p, row{id: id, member: m.id, began: began})
	}
	return errors.Join(err, p.Close())
}

// answer reads what the server says of one row.
func (c *clients) answer(p *pgconn.Pipeline, r row) error {
	got, err := p.GetResults()
	if err != nil {
		return err
	}
	results, ok := got.(*pgconn.ResultReader)
	if !ok {
		return fmt.Errorf("the answer is %T", got)
	}
	read := results.Read()
	if read.Err != nil {
		return read.Err
	}
	r.history = string(read.Rows[0][0])
	if r.place, err = strconv.ParseUint(string(read.Rows[0][1]), 10, 64); err != nil {
		return err
	}
	if _, err := p.GetResults(); err != nil { // the end of its transaction
		return err
	}
	r.end = time.Since(c.began)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.acked = append(c.acked, r)
	return nil
}
