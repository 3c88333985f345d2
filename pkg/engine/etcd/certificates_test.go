package etcd

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// issuer is the CA of a fleet.
type issuer struct {
	t    *testing.T
	ca   *x509.Certificate
	der  []byte
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newIssuer(t *testing.T, name string) *issuer {
	t.Helper()
	i := &issuer{t: t, key: key(t), pool: x509.NewCertPool(), ca: &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}}
	i.der = sign(t, i.ca, i.ca, i.key, i.key)
	i.pool.AppendCertsFromPEM(i.pem())
	return i
}

// issue makes a CA and one certificate for all members, in dir under the
// names that a pod has them.
func issue(t *testing.T, dir string, hosts []string) *issuer {
	t.Helper()
	i := newIssuer(t, "test CA")
	write(t, dir, "ca.crt", i.pem())
	i.members(dir, hosts, time.Hour)
	return i
}

func (i *issuer) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.der})
}

// members writes a certificate for all members, and returns it.
func (i *issuer) members(dir string, hosts []string, life time.Duration) tls.Certificate {
	i.t.Helper()
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "member"},
		NotBefore: i.ca.NotBefore, NotAfter: time.Now().Add(life), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    hosts, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	k := key(i.t)
	der := sign(i.t, leaf, i.ca, k, i.key)
	keyDER, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		i.t.Fatal(err)
	}
	write(i.t, dir, "tls.crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	write(i.t, dir, "tls.key", pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: k}
}

// client is what a client needs whose certificate names that user.
func (i *issuer) client(user string) *tls.Config {
	i.t.Helper()
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(3), Subject: pkix.Name{CommonName: user}, NotBefore: i.ca.NotBefore,
		NotAfter: i.ca.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	k := key(i.t)
	return &tls.Config{
		MinVersion: tls.VersionTLS12, RootCAs: i.pool,
		Certificates: []tls.Certificate{{Certificate: [][]byte{sign(i.t, leaf, i.ca, k, i.key)}, PrivateKey: k}},
	}
}

func write(t *testing.T, dir, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func key(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func sign(t *testing.T, cert, parent *x509.Certificate, k, signer *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, &k.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	return der
}
