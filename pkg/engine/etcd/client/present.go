package client

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

var _ engine.Presenter = (*Session)(nil)

// renewalNear is from when on before its end a certificate that an open
// connection once saw is observed again: it may have been renewed meanwhile.
const renewalNear = 45 * 24 * time.Hour

// errPlainText is what a member that serves no certificate amounts to.
var errPlainText = errors.New("it serves in plain text")

// Present implements engine.Presenter.
func (s *Session) Present(ctx context.Context, member string) (engine.Presented, error) {
	var p engine.Presented
	var failure error
	err := s.With(member, func(c *Connection) bool {
		p, failure = c.present(ctx)
		return true
	})
	if err = errors.Join(err, failure); err != nil {
		return p, fmt.Errorf("read the certificate of member %s: %w", member, err)
	}
	return p, nil
}

// certificate is what the member showed when this connection was made, or
// shows now where that failed or is about to run out; nil if nothing was seen.
func (c *Connection) certificate(ctx context.Context) *engine.Presented {
	if c.secure == nil {
		return nil
	}
	if seen := c.showed.Load(); seen != nil && time.Until(seen.NotAfter) > renewalNear {
		return seen
	}
	if now, err := c.present(ctx); err == nil {
		c.showed.Store(&now)
	}
	return c.showed.Load()
}

// present makes a handshake of its own. What a server asks of clients comes
// after its certificate, so a handshake that the server would refuse shows
// everything too.
func (c *Connection) present(ctx context.Context) (engine.Presented, error) {
	if c.secure == nil {
		return engine.Presented{}, errPlainText
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	raw, err := c.dial(ctx)
	if err != nil {
		return engine.Presented{}, err
	}
	defer func() { _ = raw.Close() }() // nothing was sent that could be lost
	var leaf *x509.Certificate
	var accepts [][]byte
	config := c.secure.Clone()
	config.InsecureSkipVerify = true // #nosec G402 -- it only reads, also certificates that ran out, and sends nothing
	config.VerifyConnection = func(state tls.ConnectionState) error {
		leaf = state.PeerCertificates[0]
		return nil
	}
	ours := tls.Certificate{}
	if len(config.Certificates) > 0 {
		ours = config.Certificates[0]
	}
	config.GetClientCertificate = func(asked *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		accepts = asked.AcceptableCAs
		return &ours, nil
	}
	// A refusal by the server comes after all that is to be seen.
	err = tls.Client(raw, config).HandshakeContext(ctx)
	if leaf == nil {
		return engine.Presented{}, fmt.Errorf("no certificate was shown: %w", err)
	}
	return presented(leaf, accepts), nil
}

// presented describes a certificate, and names authorities as x509 prints them.
func presented(leaf *x509.Certificate, accepts [][]byte) engine.Presented {
	sum := sha256.Sum256(leaf.Raw)
	p := engine.Presented{Fingerprint: hex.EncodeToString(sum[:]), NotAfter: leaf.NotAfter}
	for _, der := range accepts {
		var name pkix.RDNSequence
		if rest, err := asn1.Unmarshal(der, &name); err == nil && len(rest) == 0 {
			p.Accepts = append(p.Accepts, name.String())
		}
	}
	slices.Sort(p.Accepts)
	return p
}
