//go:build linux

package valkey

import (
	"context"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/datadir"
)

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
	return s.setIdentity(func(id *datadir.Identity) { id.Source = false })
}

// askUsers has a replica learn the users from the primary as long as the data holds none. It does not wait.
func (s *Server) askUsers() {
	s.mu.Lock()
	due := s.identity.Source && s.promoted == 0 && s.proc != nil && !s.asking
	s.asking = s.asking || due
	s.mu.Unlock()
	if !due {
		return
	}
	go func() {
		var f facts
		if err := s.upstream.Facts(&f); err == nil && f.Source {
			_ = s.keepAccounts(f.Accounts) // what fails is done again in two seconds
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asking = false
	}()
}
