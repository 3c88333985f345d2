//go:build linux

package postgres

import (
	"context"
	"errors"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestAdmit waits for a client that is not logged in, and not for one that is.
func TestAdmit(t *testing.T) {
	t.Parallel()
	_, m1, _ := pair(t)
	m1.sql("CREATE ROLE app LOGIN PASSWORD 'word'")
	in, err := pgconn.Connect(t.Context(), "host=127.0.0.1 sslmode=disable user=app password=word dbname=postgres port="+
		strconv.Itoa(m1.Port))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close(context.WithoutCancel(t.Context())) }()
	admit := protocol.Job{Kind: protocol.Admit, Generation: 1}
	m1.Must(admit)
	c, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(m1.Port))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer stop()
	if err := m1.Do(ctx, admit, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it does not wait for a client that says nothing: %v", err)
	}
	time.AfterFunc(300*time.Millisecond, func() { _ = c.Close() })
	m1.Must(admit)
}
