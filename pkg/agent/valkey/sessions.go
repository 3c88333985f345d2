//go:build linux

package valkey

import (
	"context"
	"net/netip"
	"strings"
)

// sessions returns where the clients are that are logged in.
func (s *Server) sessions(ctx context.Context) ([]netip.AddrPort, error) {
	ctx, stop := context.WithTimeout(ctx, observeTimeout)
	defer stop()
	text, err := s.observer.Do(ctx, "CLIENT", "LIST")
	if err != nil {
		return nil, err
	}
	return parseSessions(text), nil
}

// parseSessions reads what CLIENT LIST answers. A client whose first command the server has not answered is on its way:
// it sends its password with that. Clients of the Unix socket have no port.
func parseSessions(text string) (in []netip.AddrPort) {
	for line := range strings.Lines(text) {
		fields := map[string]string{}
		for f := range strings.FieldsSeq(line) {
			key, value, _ := strings.Cut(f, "=")
			fields[key] = value
		}
		if client, err := netip.ParseAddrPort(fields["addr"]); err == nil && fields["cmd"] != "NULL" {
			in = append(in, client)
		}
	}
	return in
}
