package kube

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

// keyPair is a certificate and its key as PEM.
type keyPair struct{ certificate, key []byte }

// authority signs a cluster's certificates.
type authority struct {
	certificate *x509.Certificate
	key         any
	// bundle is what those who hold its certificates are to trust.
	bundle []byte
	// chain leads from its certificates to an authority that is known elsewhere.
	chain []byte
}

// newAuthority makes a self-signed authority that can sign leaves only.
func newAuthority(name string, now time.Time) (keyPair, error) {
	return sign(authorityTemplate(name, now), nil)
}

// parseAuthority reads an authority back. Its errors never quote the input.
func parseAuthority(p keyPair) (*authority, error) {
	certificate, _ := pem.Decode(p.certificate)
	key, _ := pem.Decode(p.key)
	if certificate == nil || key == nil {
		return nil, errors.New("certificate or key is not PEM")
	}
	a := &authority{bundle: p.certificate, chain: chainOf(p.certificate)}
	var err error
	if a.certificate, err = x509.ParseCertificate(certificate.Bytes); err != nil {
		return nil, errors.New("the certificate can't be read")
	}
	if a.key, err = parseKey(key.Bytes); err != nil {
		return nil, errors.New("the key can't be read")
	}
	if !a.certificate.IsCA {
		return nil, errors.New("the certificate is no authority's")
	}
	if _, err := tls.X509KeyPair(p.certificate, p.key); err != nil {
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
func judgeAuthority(p keyPair, now time.Time) error {
	a, err := parseAuthority(p)
	if err != nil {
		return err
	}
	switch c := a.certificate; {
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

// client issues a certificate for a user of the database.
func (a *authority) client(user string, now time.Time) (keyPair, error) {
	return sign(leaf(user, now, x509.ExtKeyUsageClientAuth), a)
}

// member issues a certificate with which a member serves and dials its peers.
func (a *authority) member(name string, hosts []string, now time.Time) (keyPair, error) {
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
func sign(template *x509.Certificate, by *authority) (keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, fmt.Errorf("generate a key: %w", err)
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return keyPair{}, fmt.Errorf("choose a serial number: %w", err)
	}
	parent, signer := template, any(key)
	if by != nil {
		parent, signer = by.certificate, by.key
		if parent.NotAfter.Before(template.NotAfter) {
			template.NotAfter = parent.NotAfter // nobody believes it for longer
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return keyPair{}, fmt.Errorf("sign the certificate of %s: %w", template.Subject.CommonName, err)
	}
	private, err := encodeKey(key)
	out := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if by != nil {
		out = append(out, by.chain...)
	}
	return keyPair{certificate: out, key: private}, err
}

// encodeKey writes a key as parseKey reads it.
func encodeKey(key any) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, errors.New("the new key can't be written")
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}
