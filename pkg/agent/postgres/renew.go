package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"syscall"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/certificate"
)

// renewTime bounds how long a server may take to load a certificate, loadInterval is how often it is asked.
const (
	renewTime    = 5 * time.Second
	loadInterval = 50 * time.Millisecond
)

// Renew has the server load its certificate and the authorities from their files again, and returns once it shows the
// certificate to new connections. Open connections go on. A server that does not run loads them at its start.
func (s *Server) Renew(ctx context.Context) error {
	p := s.running()
	if p == nil || s.Certificate == "" {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, renewTime)
	defer stop()
	if err := p.Cmd.Process.Signal(syscall.SIGHUP); err != nil {
		return fmt.Errorf("have the server load its certificate: %w", err)
	}
	tick := time.NewTicker(loadInterval)
	defer tick.Stop()
	for {
		err := s.shows(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("have the server load its certificate: %w", err)
		case <-tick.C:
		}
	}
}

// shows compares what the server shows with what the file holds.
func (s *Server) shows(ctx context.Context) error {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port)))
	if err != nil {
		return err
	}
	if err := askForTLS(ctx, c); err != nil {
		return errors.Join(err, c.Close())
	}
	return certificate.Files{Certificate: s.Certificate, Key: s.Key, Authority: s.Authority}.Serves(ctx, c)
}

// sslRequest is the code of the message SSLRequest,
// https://www.postgresql.org/docs/current/protocol-message-formats.html.
const sslRequest = 80877103

// askForTLS brings a connection to the first byte of the handshake.
func askForTLS(ctx context.Context, c net.Conn) error {
	if deadline, ok := ctx.Deadline(); ok {
		if err := c.SetDeadline(deadline); err != nil {
			return err
		}
	}
	request := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 8), sslRequest)
	if _, err := c.Write(request); err != nil {
		return err
	}
	answer := make([]byte, 1)
	if _, err := io.ReadFull(c, answer); err != nil {
		return err
	}
	if answer[0] != 'S' {
		return errors.New("the server speaks no TLS")
	}
	return nil
}
