//go:build linux

package postgres

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
)

var _ api.SessionEnder = (*Server)(nil)

const (
	// orphans ends the sessions of roles that are gone: the server goes on with them.
	orphans = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
 WHERE backend_type IN ('client backend', 'walsender') AND usesysid NOT IN (SELECT oid FROM pg_authid)`
	// goneTime bounds the wait for a replica to apply that a role is gone, gonePause is the time between two questions.
	goneTime  = 3 * time.Second
	gonePause = 20 * time.Millisecond
	// sweepEvery is how often the sessions of roles that are gone are ended without being asked for: a replica may apply
	// that a role is gone long after EndSessions gave up, and a member may not have been asked.
	sweepEvery = 10 * time.Second
	// sweepTime is how long an observation may take longer for it.
	sweepTime = 100 * time.Millisecond
	// aged leaves the youngest sessions out: the role of one may be younger than what the question sees.
	aged = " AND backend_start < now() - interval '5 s'"
)

// sweep ends the sessions of roles that are gone, every now and then. It is called after the server answered, with its
// observer: a server that is asked for its state anyway is asked one thing more. A failure is repaired by the next one.
func (s *Server) sweep(ctx context.Context) {
	s.mu.Lock()
	now := s.Now()
	due := now.Sub(s.swept) >= sweepEvery
	if due {
		s.swept = now
	}
	s.mu.Unlock()
	if !due {
		return
	}
	ctx, stop := context.WithTimeout(ctx, sweepTime)
	defer stop()
	_, _ = s.observer.Ask(ctx, orphans+aged)
}

// EndSessions implements api.SessionEnder. A replica first applies that the role is gone. One that does so later ends
// the sessions then.
func (s *Server) EndSessions(ctx context.Context, user string) error {
	ctx, stop := context.WithTimeout(ctx, goneTime)
	defer stop()
	for {
		got, err := s.Once(ctx, "SELECT 1 FROM pg_roles WHERE rolname = "+local.Literal(user)+"; "+orphans)
		if err != nil {
			return fmt.Errorf("end the sessions of user %s: %w", user, err)
		}
		if len(got[0]) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("end the sessions of user %s: the user is still there: %w", user, ctx.Err())
		case <-time.After(gonePause):
		}
	}
}

// loggedIn asks for the sessions of clients that connect by TCP. A session that is being opened is in no state; since
// version 18 it is starting.
const loggedIn = `SELECT host(client_addr), client_port FROM pg_stat_activity
 WHERE client_port > 0 AND state IS NOT NULL AND state <> 'starting'`

// sessions returns where the clients are that are logged in.
func (s *Server) sessions(ctx context.Context) (in []netip.AddrPort, err error) {
	ctx, stop := context.WithTimeout(ctx, observeTimeout)
	defer stop()
	got, err := s.observer.Ask(ctx, loggedIn)
	if err != nil {
		return nil, err
	}
	for _, row := range got[0] {
		client, err := netip.ParseAddrPort(net.JoinHostPort(row[0], row[1]))
		if err != nil {
			return nil, fmt.Errorf("read where a client is: %w", err)
		}
		in = append(in, client)
	}
	return in, nil
}
