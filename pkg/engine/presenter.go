package engine

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"fmt"
	"net"
	"slices"
	"time"
)

// Presented is what a member shows to a client that shakes hands with it.
type Presented struct {
	// Fingerprint is the SHA-256 of the certificate that it serves, NotAfter
	// when that runs out.
	Fingerprint string    `json:"fingerprint"`
	NotAfter    time.Time `json:"notAfter"`
	// Accepts are the subjects of the authorities whose certificates the
	// running process takes from clients, in the order of the alphabet; one
	// subject is there as often as there are authorities of that name.
	Accepts []string `json:"accepts,omitempty"`
}

// Presenter is what a Session also is if its members serve certificates.
type Presenter interface {
	// Present shakes hands with a member again and says what it showed, whether
	// that is still valid or not. Nothing is trusted, and nothing is sent.
	Present(ctx context.Context, member string) (Presented, error)
}

// ReadPresented shakes hands on a new connection, closes it, and describes what was shown, valid or not. What a server
// asks of clients comes after its certificate, so a handshake that it refuses shows everything too.
func ReadPresented(ctx context.Context, raw net.Conn, secure *tls.Config) (Presented, error) {
	defer func() { _ = raw.Close() }() // nothing was sent that could be lost
	var leaf *x509.Certificate
	var accepts [][]byte
	config := secure.Clone()
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
	err := tls.Client(raw, config).HandshakeContext(ctx)
	if leaf == nil {
		return Presented{}, fmt.Errorf("no certificate was shown: %w", err)
	}
	p := PresentedBy(leaf)
	for _, der := range accepts {
		var name pkix.RDNSequence
		if rest, err := asn1.Unmarshal(der, &name); err == nil && len(rest) == 0 {
			p.Accepts = append(p.Accepts, name.String()) // as x509 prints it
		}
	}
	slices.Sort(p.Accepts)
	return p, nil
}

// PresentedBy describes a certificate that was seen without what its server accepts.
func PresentedBy(leaf *x509.Certificate) Presented {
	sum := sha256.Sum256(leaf.Raw)
	return Presented{Fingerprint: hex.EncodeToString(sum[:]), NotAfter: leaf.NotAfter}
}
