package certificate

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
)

// Serves returns nil if the server at the other end of a connection shows the certificate that the file holds now. The
// connection is at the first byte of the handshake; it is closed.
func (f Files) Serves(ctx context.Context, c net.Conn) error {
	defer c.Close() //nolint:errcheck // nothing was sent that could be lost
	raw, err := f.read()
	if err != nil {
		return err
	}
	want, err := f.parse(raw)
	if err != nil {
		return err
	}
	var shown []byte
	//nolint:gosec // it compares what is shown, and sends nothing
	config := &tls.Config{InsecureSkipVerify: true, VerifyConnection: func(s tls.ConnectionState) error {
		shown = s.PeerCertificates[0].Raw
		return nil
	}}
	// Who asks for a certificate refuses after it showed its own.
	if err := tls.Client(c, config).HandshakeContext(ctx); shown == nil {
		return fmt.Errorf("ask the server for its certificate: %w", err)
	}
	if !bytes.Equal(shown, want.Own.Certificate[0]) {
		return errors.New("the server still shows another certificate than its file holds")
	}
	return nil
}
