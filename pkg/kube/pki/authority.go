package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"regexp"
	"strconv"
	"time"
)

// How long certificates are valid, and how far back they start: the clock of
// a node may be behind the API server's.
const (
	authorityLife = 10 * 365 * 24 * time.Hour
	leafLife      = 365 * 24 * time.Hour
	clockSkew     = time.Hour
	// leastLife is what a person's authority must have left.
	leastLife = 30 * 24 * time.Hour
)

// KeyPair is a certificate and its key as PEM.
type KeyPair struct{ Certificate, Key []byte }

// Signer signs a cluster's certificates.
type Signer struct {
	Certificate *x509.Certificate
	key         any
	// bundle is what those who hold its certificates are to trust.
	bundle []byte
	// chain leads from its certificates to an authority that is known elsewhere.
	chain []byte
}

// NewAuthority makes a self-signed authority that can sign leaves only.
func NewAuthority(name string, now time.Time) (KeyPair, error) {
	return sign(authorityTemplate(name, now), nil)
}

// NewSigner reads an authority back. Its errors never quote the input.
func NewSigner(p KeyPair) (*Signer, error) {
	certificate, _ := pem.Decode(p.Certificate)
	key, _ := pem.Decode(p.Key)
	if certificate == nil || key == nil {
		return nil, errors.New("certificate or key is not PEM")
	}
	a := &Signer{bundle: p.Certificate, chain: chainOf(p.Certificate)}
	var err error
	if a.Certificate, err = x509.ParseCertificate(certificate.Bytes); err != nil {
		return nil, errors.New("the certificate can't be read")
	}
	if a.key, err = parseKey(key.Bytes); err != nil {
		return nil, errors.New("the key can't be read")
	}
	if !a.Certificate.IsCA {
		return nil, errors.New("the certificate is no authority's")
	}
	if _, err := tls.X509KeyPair(p.Certificate, p.Key); err != nil {
		return nil, errors.New("certificate and key do not match")
	}
	return a, nil
}

// succession counts authorities of one cluster: "shop/db", "shop/db #2".
var succession = regexp.MustCompile(`^(.*) #(\d+)$`)

// successorName is what the next authority is called. No two of one cluster
// share a name, so that it shows which of them a member trusts.
func successorName(current string) string {
	m := succession.FindStringSubmatch(current)
	if m == nil {
		return current + " #2"
	}
	n, err := strconv.Atoi(m[2])
	if err != nil {
		return current + " #2"
	}
	return fmt.Sprintf("%s #%d", m[1], n+1)
}

// judgeAuthority says why a person's authority can't be used.
func judgeAuthority(p KeyPair, now time.Time) error {
	a, err := NewSigner(p)
	if err != nil {
		return err
	}
	switch c := a.Certificate; {
	case c.KeyUsage != 0 && c.KeyUsage&x509.KeyUsageCertSign == 0:
		return errors.New("the authority may not sign certificates")
	case now.Before(c.NotBefore):
		return fmt.Errorf("the authority is not valid before %s", c.NotBefore.UTC().Format(time.RFC3339))
	case c.NotAfter.Sub(now) < leastLife:
		return fmt.Errorf("the authority runs out on %s", c.NotAfter.UTC().Format(time.RFC3339))
	}
	return nil
}

// parseKey reads the forms in which tools write keys.
func parseKey(der []byte) (any, error) {
	if key, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		return key, nil
	}
	if key, err := x509.ParseECPrivateKey(der); err == nil {
		return key, nil
	}
	return x509.ParsePKCS1PrivateKey(der)
}

// IssueClient issues a certificate for a user of the database.
func (a *Signer) IssueClient(user string, now time.Time) (KeyPair, error) {
	return sign(leaf(user, now, x509.ExtKeyUsageClientAuth), a)
}

// IssueMember issues a certificate with which a member serves and dials its peers.
func (a *Signer) IssueMember(name string, hosts []string, now time.Time) (KeyPair, error) {
	l := leaf(name, now, x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth)
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			l.IPAddresses = append(l.IPAddresses, ip)
		} else {
			l.DNSNames = append(l.DNSNames, h)
		}
	}
	return sign(l, a)
}

func leaf(name string, now time.Time, usage ...x509.ExtKeyUsage) *x509.Certificate {
	return &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-clockSkew), NotAfter: now.Add(leafLife),
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: usage,
	}
}

// sign makes a fresh key and a certificate for it; self-signed without an authority.
func sign(template *x509.Certificate, by *Signer) (KeyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return KeyPair{}, fmt.Errorf("generate a key: %w", err)
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return KeyPair{}, fmt.Errorf("choose a serial number: %w", err)
	}
	parent, signer := template, any(key)
	if by != nil {
		parent, signer = by.Certificate, by.key
		if parent.NotAfter.Before(template.NotAfter) {
			template.NotAfter = parent.NotAfter // nobody believes it for longer
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return KeyPair{}, fmt.Errorf("sign the certificate of %s: %w", template.Subject.CommonName, err)
	}
	private, err := encodeKey(key)
	out := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if by != nil {
		out = append(out, by.chain...)
	}
	return KeyPair{Certificate: out, Key: private}, err
}

// encodeKey writes a key as parseKey reads it.
func encodeKey(key any) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, errors.New("the new key can't be written")
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}
