//go:build linux

package postgres

import (
	"context"
	"fmt"
	"net"
	"net/netip"
)

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
