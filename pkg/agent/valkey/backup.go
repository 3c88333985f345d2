//go:build linux

package valkey

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/loaded"
)

// Copy writes a file with all data, as the server sends it to a replica.
func (s *Server) Copy(ctx context.Context, w io.Writer) error {
	if s.running() == nil {
		return errors.New("copy the data: its server does not run")
	}
	c, err := s.enter(ctx)
	if err != nil {
		return fmt.Errorf("copy the data: %w", err)
	}
	defer c.Close() //nolint:errcheck // it is of no use any more
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	// The server does not take who asks so for a replica, and sends nothing after the file.
	for _, command := range [][]string{{"REPLCONF", "capa", "eof"}, {"REPLCONF", "rdb-only", "1"}} {
		if _, err := c.Do(ctx, command...); err != nil {
			return fmt.Errorf("copy the data: %w", err)
		}
	}
	if err := c.Copy(w); err != nil {
		return fmt.Errorf("copy the data: %w", errors.Join(ctx.Err(), err))
	}
	return nil
}

// Contents says of which backup the data was made, once the server has loaded it; it is refused until then. Other data
// has no proof.
func (s *Server) Contents(context.Context) (api.Contents, error) {
	record, found, err := loaded.Read(s.data())
	if err != nil || !found {
		return api.Contents{}, err
	}
	s.mu.Lock()
	ready := s.ready
	s.mu.Unlock()
	if !ready {
		return api.Contents{}, api.Refused{Why: "the server has not loaded the data yet"}
	}
	return record.Contents, nil
}
