//go:build linux

package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/loaded"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/datadir"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/volume"
)

// Copy writes a base backup as one archive: the data, the log that makes it consistent, and the manifest with the
// checksum of every file.
func (s *Server) Copy(ctx context.Context, w io.Writer) error {
	held, err := s.holdLog(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = held.Close(context.WithoutCancel(ctx)) }()
	return s.backUp(ctx, w)
}

// ownTablespaces are those that somebody made.
const ownTablespaces = `SELECT spcname FROM pg_tablespace WHERE spcname NOT IN ('pg_default', 'pg_global') ORDER BY 1`

// holdLog has the server keep its log from here on, for as long as the session lasts. It refuses what is not copied.
func (s *Server) holdLog(ctx context.Context) (*pgconn.PgConn, error) {
	if s.running() == nil {
		return nil, errors.New("copy the data: its server does not run")
	}
	conn, err := local.Dial(ctx, s.Session(s.Port, "postgres", "backup"))
	if err != nil {
		return nil, fmt.Errorf("copy the data: %w", err)
	}
	got, err := local.Ask(ctx, conn, ownTablespaces+"; SELECT pg_create_physical_replication_slot('dbop_copy_"+
		volume.NewName(4)+"', true, true)")
	if err == nil && len(got[0]) > 0 {
		err = api.Refused{Why: fmt.Sprintf("the tablespace %q is outside of the data directory, and is not copied yet",
			got[0][0][0])}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("copy the data: %w", err), conn.Close(context.WithoutCancel(ctx)))
	}
	return conn, nil
}

// backUp runs the program that copies, with more arguments. It ends with the context, or when nobody takes what it
// writes.
func (s *Server) backUp(ctx context.Context, w io.Writer, more ...string) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	args := append([]string{"--pgdata", "-", "--format", "tar", "--wal-method", "fetch", "--manifest-checksums", "SHA256",
		"--checkpoint", "fast", "--label", "dbop", "--no-password",
		"--dbname", s.Conninfo(s.Port, "application_name=backup")}, more...)
	cmd := exec.CommandContext(ctx, s.Program("pg_basebackup"), args...) //nolint:gosec // the program is ours
	cmd.Env, cmd.WaitDelay = append(cmd.Environ(), "LC_ALL=C.UTF-8", "PGCONNECT_TIMEOUT=5"), time.Second
	var said strings.Builder
	cmd.Stderr = &limited{to: &said, left: mostSaid}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("run pg_basebackup: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("run pg_basebackup: %w", err)
	}
	_, copied := io.CopyBuffer(onlyWriter{w}, out, make([]byte, copyBuffer))
	if copied != nil {
		stop()
	}
	if err := cmd.Wait(); err != nil && copied == nil {
		return fmt.Errorf("run pg_basebackup: %w: %s", err, strings.Join(strings.Fields(said.String()), " "))
	}
	return copied
}

const (
	copyBuffer = 256 << 10
	mostSaid   = 2000
)

// onlyWriter has the buffer used that is given.
type onlyWriter struct{ io.Writer }

// limited keeps the first words of a program, and drops the rest.
type limited struct {
	to   io.Writer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(l.left, len(p))
	l.left -= n
	if _, err := l.to.Write(p[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Contents says of which backup the data was made, once its log was used up to the end of that; it is refused until
// then. Other data has no proof.
func (s *Server) Contents(context.Context) (api.Contents, error) {
	record, found, err := loaded.Read(s.data())
	if err != nil || !found {
		return api.Contents{}, err
	}
	s.mu.Lock()
	past, ready := s.identity.Lineage, s.ready
	s.mu.Unlock()
	if !ready {
		return api.Contents{}, api.Refused{Why: "the server has not recovered the data yet"}
	}
	if past.At(datadir.LSN(record.End.Offset)) != record.End.Timeline {
		return api.Contents{}, fmt.Errorf("describe the data: the log of timeline %d was not used up to %s, the end of "+
			"the backup", record.End.Timeline, datadir.LSN(record.End.Offset))
	}
	return record.Contents, nil
}
