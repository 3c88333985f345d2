package valkey

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/certificate"
)

// renewTime bounds how long a server may take to load a certificate.
const renewTime = 5 * time.Second

// Renew has the server load its certificate and the authorities from their files again, and returns once it shows the
// certificate to new connections. Open connections go on. A server that does not run loads them at its start. The names
// of the files are set again: the server then reads them, although they are the same.
func (s *Server) Renew(ctx context.Context) error {
	if s.running() == nil || s.Certificate == "" {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, renewTime)
	defer stop()
	if _, err := s.ask(ctx, "CONFIG", "SET", "tls-cert-file", s.Certificate, "tls-key-file", s.Key, "tls-ca-cert-file",
		s.Authority); err != nil {
		return fmt.Errorf("have the server load its certificate: %w", err)
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port)))
	if err != nil {
		return fmt.Errorf("have the server load its certificate: %w", err)
	}
	files := certificate.Files{Certificate: s.Certificate, Key: s.Key, Authority: s.Authority}
	if err := files.Serves(ctx, c); err != nil {
		return fmt.Errorf("have the server load its certificate: %w", err)
	}
	return nil
}
