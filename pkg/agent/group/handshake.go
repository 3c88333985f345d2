package group

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/certificate"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// helloTimeout bounds a handshake.
const helloTimeout = 2 * time.Second

// memberTLS accepts peers by authority and name. A certificate that expired is accepted and reported: clocks may be
// wrong, and an outage would be worse. The certificate of the other side is checked in the handshake, before the hello.
func memberTLS(identity func() certificate.Identity, report func(string)) *tls.Config {
	own := func() *tls.Certificate {
		now := identity()
		return &now.Own
	}
	return &tls.Config{
		GetCertificate:       func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return own(), nil },
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return own(), nil },
		MinVersion:           tls.VersionTLS13, ClientAuth: tls.RequireAnyClientCert, SessionTicketsDisabled: true,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection does it, with another idea of the time
		VerifyConnection: func(c tls.ConnectionState) error {
			leaf := c.PeerCertificates[0]
			options := x509.VerifyOptions{
				Roots: identity().Authority, Intermediates: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
			}
			for _, i := range c.PeerCertificates[1:] {
				options.Intermediates.AddCert(i)
			}
			_, err := leaf.Verify(options)
			var invalid x509.CertificateInvalidError
			if errors.As(err, &invalid) && invalid.Reason == x509.Expired {
				report(fmt.Sprintf("the certificate of %s is not valid now: it is from %s until %s", leaf.Subject.CommonName,
					leaf.NotBefore.Format(time.DateOnly), leaf.NotAfter.Format(time.DateOnly)))
				options.CurrentTime = leaf.NotBefore.Add(time.Second)
				_, err = leaf.Verify(options)
			}
			return err
		},
	}
}

// prove exchanges hellos. Each side refuses the other before any message of raft passes.
func (n *network) prove(c *tls.Conn, want protocol.MemberID, p Purpose) (hello, error) {
	if err := c.SetDeadline(time.Now().Add(helloTimeout)); err != nil {
		return hello{}, err
	}
	if n.isLeft() {
		return hello{}, errLeft
	}
	if err := c.Handshake(); err != nil {
		return hello{}, err
	}
	dials := want != ""
	own := n.hello()
	own.Purpose = p
	if dials {
		if err := write(c, own); err != nil {
			return hello{}, err
		}
	}
	theirs, err := read(c)
	if err != nil {
		return hello{}, err
	}
	refusal := n.judge(c, theirs, want)
	if !dials {
		if refusal != nil {
			own.Refused = refusal.Error()
		}
		if err := write(c, own); err != nil {
			return hello{}, err
		}
	}
	if theirs.Refused != "" {
		n.report(fmt.Sprintf("member %s refuses this member: %s", theirs.ID, theirs.Refused))
		return hello{}, errors.New(theirs.Refused)
	}
	if refusal != nil {
		refusal = fmt.Errorf("member %s is refused: %w", theirs.ID, refusal)
		if dials {
			n.report(refusal.Error())
		}
		return hello{}, refusal
	}
	address := c.RemoteAddr().String()
	if !dials {
		address = n.behind(theirs.ID, address)
	}
	if err := n.peers.remember(theirs, address); err != nil {
		return hello{}, err
	}
	return theirs, c.SetDeadline(time.Time{})
}

// judge compares a hello with the certificate and with what is known of the member.
func (n *network) judge(c *tls.Conn, h hello, want protocol.MemberID) error {
	if want != "" && h.ID != want {
		return fmt.Errorf("it is %s, not %s", h.ID, want)
	}
	if err := c.ConnectionState().PeerCertificates[0].VerifyHostname(string(h.ID)); err != nil {
		return err
	}
	return n.peers.check(h)
}

// behind is where a member that connected from an address listens: the names of new pods resolve late.
func (n *network) behind(id protocol.MemberID, from string) string {
	host, _, err1 := net.SplitHostPort(from)
	_, port, err2 := net.SplitHostPort(n.address(id))
	if err1 != nil || err2 != nil {
		return ""
	}
	return net.JoinHostPort(host, port)
}

// write sends one line, read takes one and nothing after it.
func write(c net.Conn, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = c.Write(append(raw, '\n'))
	return err
}

func read(c net.Conn) (h hello, err error) {
	var line []byte
	for one := make([]byte, 1); len(line) < 4096; {
		if _, err := c.Read(one); err != nil {
			return h, err
		}
		if one[0] == '\n' {
			return h, json.Unmarshal(line, &h)
		}
		line = append(line, one[0])
	}
	return h, bufio.ErrTooLong
}
