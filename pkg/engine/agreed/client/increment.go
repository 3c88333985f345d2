package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

var _ engine.Incrementer = (*Session)(nil)

// keepTimeout bounds how long one member may take to keep a base.
const keepTimeout = time.Minute

// Increment implements engine.Incrementer. A replica begins at the last checkpoint of the primary, and needs one behind
// the full backup. An idle primary writes one only if it is asked to.
func (s *Session) Increment(ctx context.Context, from, since string, w io.Writer, report func(int64)) error {
	c, err := s.client(from)
	if err != nil {
		return err
	}
	upTo, err := c.Checkpoint(ctx)
	if err != nil {
		return fmt.Errorf("have the primary write a checkpoint: %w", err)
	}
	return s.checked(from, w, report, "take a full backup: kubectl dbop backup "+s.access.Cluster.Name,
		func(w io.Writer) error { return c.Increment(ctx, since, upTo, w) })
}

// KeepBase implements engine.Incrementer.
func (s *Session) KeepBase(ctx context.Context, members []string, of engine.BaseOf, content []byte) ([]string, error) {
	errs := make([]error, len(members))
	var all sync.WaitGroup
	for i, member := range members {
		all.Go(func() {
			ctx, stop := context.WithTimeout(ctx, keepTimeout)
			defer stop()
			var c *api.Client
			if c, errs[i] = s.client(member); errs[i] == nil {
				errs[i] = c.KeepBase(ctx, api.Base{Backup: of.Backup, Repository: of.Repository}, content)
			}
		})
	}
	all.Wait()
	var kept []string
	for i, member := range members {
		if errs[i] == nil {
			kept = append(kept, member)
		}
	}
	return slices.Clip(kept), errors.Join(errs...)
}
