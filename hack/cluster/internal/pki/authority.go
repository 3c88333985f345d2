// Package pki is the cluster's own certificate authority.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// lifetime is far beyond that of any test cluster, so nothing renews.
const lifetime = 5 * 365 * 24 * time.Hour

// Authority signs the certificates of one cluster.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pair        Pair
}

// Subject is whom a certificate is for, and which names a server answers to.
// One without addresses and hosts is a client certificate.
type Subject struct {
	User   string
	Groups []string
	IPs    []string
	Hosts  []string
}

// NewAuthority makes an authority with a fresh key.
func NewAuthority(name string) (*Authority, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(lifetime),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("sign the authority's own certificate: %w", err)
	}
	return assemble(der, key)
}

// LoadAuthority reads what Pair.Write left in dir under name.
func LoadAuthority(dir, name string) (*Authority, error) {
	cert, err := os.ReadFile(filepath.Join(dir, name+".crt"))
	if err != nil {
		return nil, fmt.Errorf("read the cluster's authority (is the cluster up?): %w", err)
	}
	key, err := os.ReadFile(filepath.Join(dir, name+".key"))
	if err != nil {
		return nil, fmt.Errorf("read the key of the cluster's authority: %w", err)
	}
	return parseAuthority(Pair{Cert: cert, Key: key})
}

// Pair is the authority's own certificate and key.
func (a *Authority) Pair() Pair { return a.pair }

// Issue signs a certificate for subject under a key of its own.
func (a *Authority) Issue(subject Subject) (Pair, error) {
	key, err := newKey()
	if err != nil {
		return Pair{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return Pair{}, fmt.Errorf("draw a serial number: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: subject.User, Organization: subject.Groups},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(lifetime),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		DNSNames:     subject.Hosts,
	}
	for _, ip := range subject.IPs {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(ip))
	}
	if len(subject.IPs)+len(subject.Hosts) > 0 {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return Pair{}, fmt.Errorf("sign a certificate for %q: %w", subject.User, err)
	}
	return encode(der, key)
}

// newKey draws a key. P-256 because making dozens of them takes no time.
func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("draw a private key: %w", err)
	}
	return key, nil
}

// assemble makes an Authority of a certificate that was just signed.
func assemble(der []byte, key *ecdsa.PrivateKey) (*Authority, error) {
	pair, err := encode(der, key)
	if err != nil {
		return nil, err
	}
	return parseAuthority(pair)
}
