package client

import (
	"context"
	"errors"
	"fmt"
	"io"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/datafile"
)

// Snapshot implements engine.Session. It has a connection of its own, so that
// a hiccup seen by an observation meanwhile does not end it. The checksum
// stays at the end of what is written, for etcdutl to check again.
func (s *Session) Snapshot(ctx context.Context, from string, w io.Writer, report func(bytes int64)) error {
	c, err := newConnection(s.access, s.At, from, s.login)
	if err != nil {
		return fmt.Errorf("take a snapshot of member %s: %w", from, err)
	}
	err = stream(ctx, c, s.login, w, report)
	if closed := c.close(); !errors.Is(closed, context.Canceled) {
		err = errors.Join(err, closed)
	}
	if err != nil {
		return fmt.Errorf("take a snapshot of member %s: %w", from, err)
	}
	return nil
}

func stream(ctx context.Context, c *Connection, l *login, w io.Writer, report func(int64)) error {
	// Ends the stream when writing fails.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sent := l.current()
	from, message, err := begin(ctx, c)
	if l.wanted(err, sent) {
		if _, err := l.renew(ctx, c.Client.ActiveConnection(), sent); err != nil {
			return fault(ctx, err)
		}
		from, message, err = begin(ctx, c)
	}
	check := datafile.NewChecksum()
	out := io.MultiWriter(check, w)
	if report != nil {
		out = io.MultiWriter(check, w, &meter{report: report})
	}
	for ; err == nil; message, err = from.Recv() {
		if _, err := out.Write(message.GetBlob()); err != nil {
			return fault(ctx, err)
		}
	}
	if !errors.Is(err, io.EOF) {
		return fault(ctx, err)
	}
	return check.Close()
}

// begin asks for a snapshot, and returns its first message: a member that refuses does so instead of that.
func begin(ctx context.Context, c *Connection) (pb.Maintenance_SnapshotClient, *pb.SnapshotResponse, error) {
	from, err := pb.NewMaintenanceClient(c.Client.ActiveConnection()).Snapshot(ctx, &pb.SnapshotRequest{})
	if err != nil {
		return nil, nil, err
	}
	message, err := from.Recv()
	return from, message, err
}

// meter reports the bytes that went through it.
type meter struct {
	bytes  int64
	report func(int64)
}

func (m *meter) Write(p []byte) (int, error) {
	m.bytes += int64(len(p))
	m.report(m.bytes)
	return len(p), nil
}
