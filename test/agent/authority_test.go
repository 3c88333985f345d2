package agent

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"testing"
	"time"
)

// authority signs the certificates of one cluster.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	// around is how long before and after now they are valid.
	around time.Duration
}

func newAuthority(t *testing.T, around time.Duration) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-around), NotAfter: time.Now().Add(around),
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{c, key, around}
}

// sign returns certificate and key for a name, as PEM.
func (a *authority) sign(t *testing.T, name string) (certificate, key []byte) {
	t.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-a.around), NotAfter: time.Now().Add(a.around),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, a.certificate, own.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		t.Fatal(err)
	}
	return encode("CERTIFICATE", raw), encode("PRIVATE KEY", der)
}

func encode(kind string, raw []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw})
}

// files writes an identity, once.
func (a *authority) files(t *testing.T, base, name string) map[string]string {
	t.Helper()
	f := map[string]string{"certificate": base + ".crt", "key": base + ".key", "authority": base + ".ca"}
	if _, err := os.Stat(f["key"]); err == nil {
		return f
	}
	certificate, key := a.sign(t, name)
	err := errors.Join(os.WriteFile(f["certificate"], certificate, 0o600), os.WriteFile(f["key"], key, 0o600),
		os.WriteFile(f["authority"], encode("CERTIFICATE", a.certificate.Raw), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// config is that of a client.
func (a *authority) config(t *testing.T, name string) *tls.Config {
	t.Helper()
	certificate, key := a.sign(t, name)
	own, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return &tls.Config{Certificates: []tls.Certificate{own}, RootCAs: pool, MinVersion: tls.VersionTLS13}
}
