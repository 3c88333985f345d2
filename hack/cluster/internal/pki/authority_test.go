package pki

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestIssue(t *testing.T) {
	dir := t.TempDir()
	made, err := NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	if err := made.Pair().Write(dir, "ca"); err != nil {
		t.Fatal(err)
	}
	// Signing with what was read back also proves that it was stored right.
	authority, err := LoadAuthority(dir, "ca")
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority.Pair().Cert) {
		t.Fatal("the authority's certificate is not PEM")
	}
	for name, test := range map[string]struct {
		subject Subject
		usages  []x509.ExtKeyUsage
	}{
		"client": {Subject{User: "alice", Groups: []string{"devs", "ops"}}, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}},
		"server": {
			Subject{User: "api", IPs: []string{"10.89.0.1"}, Hosts: []string{"kubernetes"}},
			[]x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		},
	} {
		t.Run(name, func(t *testing.T) {
			pair, err := authority.Issue(test.subject)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tls.X509KeyPair(pair.Cert, pair.Key); err != nil {
				t.Fatalf("certificate and key don't match: %v", err)
			}
			block, _ := pem.Decode(pair.Cert)
			certificate, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := certificate.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: test.usages}); err != nil {
				t.Errorf("verify: %v", err)
			}
			if !slices.Equal(certificate.ExtKeyUsage, test.usages) {
				t.Errorf("usages %v, want %v", certificate.ExtKeyUsage, test.usages)
			}
			// The groups are a set, and come back in no particular order.
			groups := slices.Sorted(slices.Values(certificate.Subject.Organization))
			if certificate.Subject.CommonName != test.subject.User || !slices.Equal(groups, test.subject.Groups) {
				t.Errorf("subject %v, want %+v", certificate.Subject, test.subject)
			}
			for _, host := range append(test.subject.Hosts, test.subject.IPs...) {
				if err := certificate.VerifyHostname(host); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestKeysAreSecret(t *testing.T) {
	dir := t.TempDir()
	authority, err := NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	if err := authority.Pair().Write(dir, "ca"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "ca.key"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, want 0600", info.Mode())
	}
}

func TestLoadAuthorityWithoutCluster(t *testing.T) {
	if _, err := LoadAuthority(t.TempDir(), "ca"); err == nil {
		t.Error("want an error that says that there is no cluster")
	}
}
