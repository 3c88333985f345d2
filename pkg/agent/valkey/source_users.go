//go:build linux

package valkey

import (
	"context"
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/datadir"
)

// A server that has nothing to send says so once a second; a source does so every ten, unless somebody changed that.
const (
	replTimeout   = "repl-timeout"
	replSeconds   = "10"
	sourceSeconds = "60"
	sourceSilence = time.Minute
)

// expectSilence says for how long the server may hear nothing of its upstream.
func (s *Server) expectSilence(ctx context.Context, ofSource bool) error {
	seconds := replSeconds
	if ofSource {
		seconds = sourceSeconds
	}
	if _, err := s.ask(ctx, "CONFIG", "SET", replTimeout, seconds); err != nil {
		return fmt.Errorf("set %s: %w", replTimeout, err)
	}
	return nil
}

// follows says whether the server of this primary follows a source.
func (s *Server) follows() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.following != nil
}

// restoreUsers writes the users to the data of a primary that came from a source, once that is not followed any more.
func (s *Server) restoreUsers(ctx context.Context) error {
	s.mu.Lock()
	due := s.identity.Source && s.ready && s.promoted > 0 && s.following == nil
	s.mu.Unlock()
	if !due {
		return nil
	}
	all, err := s.readAccounts(ctx)
	if err != nil {
		return err
	}
	if err := s.writeAccounts(ctx, "write the users to the data", all); err != nil {
		return err
	}
	return s.ownData(ctx)
}

// ownData notes that the data is that of this cluster, with its users.
func (s *Server) ownData(ctx context.Context) error {
	if err := s.expectSilence(ctx, false); err != nil {
		return err
	}
	return s.setIdentity(func(id *datadir.Identity) { id.Source = false })
}

// moveUsers brings the users where they belong, as long as the data is that of a source: to a replica from its primary,
// and into the data once that is this cluster's own. It does not wait.
func (s *Server) moveUsers() {
	s.mu.Lock()
	due, replica := s.identity.Source && s.proc != nil && !s.moving, s.promoted == 0
	s.moving = s.moving || due
	s.mu.Unlock()
	if !due {
		return
	}
	go func() {
		ctx, stop := context.WithTimeout(context.Background(), moveTime)
		defer stop()
		err := s.restoreUsers(ctx)
		var f facts
		if replica && s.upstream.Facts(ctx, &f) == nil && f.Source { // else it is asked again in two seconds
			err = s.keepAccounts(f.Accounts)
		}
		if err != nil {
			s.Report("the users are not among the data yet: " + err.Error())
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.moving = false
	}()
}

// moveTime bounds one attempt.
const moveTime = 10 * time.Second
