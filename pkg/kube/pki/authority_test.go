package pki

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
)

func parsed(t *testing.T, p KeyPair) *x509.Certificate {
	t.Helper()
	if _, err := tls.X509KeyPair(p.Certificate, p.Key); err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(p.Certificate)
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAuthorityIssues(t *testing.T) {
	root, err := NewAuthority("shop/db", kubetest.Noon())
	if err != nil {
		t.Fatal(err)
	}
	a, err := NewSigner(root)
	if err != nil {
		t.Fatal(err)
	}
	client, err := a.IssueClient("root", kubetest.Noon())
	if err != nil {
		t.Fatal(err)
	}
	member, err := a.IssueMember("db-1", MemberHosts(kubetest.Cluster(), "db-1"), kubetest.Noon())
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(a.Certificate)
	tests := []struct {
		name  string
		pair  KeyPair
		host  string
		usage x509.ExtKeyUsage
		at    time.Time
		want  bool
	}{
		{"client as client", client, "", x509.ExtKeyUsageClientAuth, kubetest.Noon(), true},
		{"client as server", client, "", x509.ExtKeyUsageServerAuth, kubetest.Noon(), false},
		{"member serves by its name", member, "db-1-0.db.shop.svc", x509.ExtKeyUsageServerAuth, kubetest.Noon(), true},
		{"member serves the client service", member, "db-client.shop.svc", x509.ExtKeyUsageServerAuth,
			kubetest.Noon(), true},
		{"member serves loopback", member, "127.0.0.1", x509.ExtKeyUsageServerAuth, kubetest.Noon(), true},
		{"member serves IPv6 loopback", member, "::1", x509.ExtKeyUsageServerAuth, kubetest.Noon(), true},
		{"member dials a peer", member, "", x509.ExtKeyUsageClientAuth, kubetest.Noon(), true},
		{"member shows whose member it is", member, "db-client.shop.svc", x509.ExtKeyUsageClientAuth,
			kubetest.Noon(), true},
		{"client is no member", client, "db-client.shop.svc", x509.ExtKeyUsageClientAuth, kubetest.Noon(), false},
		{"member is not another", member, "db-2-0.db.shop.svc", x509.ExtKeyUsageServerAuth, kubetest.Noon(), false},
		{"a node's clock is behind", member, "", x509.ExtKeyUsageServerAuth, kubetest.Noon().Add(-50 * time.Minute), true},
		{"not yet", member, "", x509.ExtKeyUsageServerAuth, kubetest.Noon().Add(-2 * time.Hour), false},
		{"after a year", member, "", x509.ExtKeyUsageServerAuth, kubetest.Noon().Add(leafLife + time.Hour), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parsed(t, tt.pair).Verify(x509.VerifyOptions{Roots: roots, DNSName: tt.host,
				KeyUsages: []x509.ExtKeyUsage{tt.usage}, CurrentTime: tt.at})
			if (err == nil) != tt.want {
				t.Errorf("verify: %v, want success: %v", err, tt.want)
			}
		})
	}
	if got := parsed(t, client).Subject.CommonName; got != "root" {
		t.Errorf("common name %q", got)
	}
	if c := parsed(t, member); c.DNSNames[0] != "db-1-0.db.shop.svc" || !c.IPAddresses[0].Equal(net.IPv4(127, 0, 0, 1)) {
		t.Errorf("names %v, addresses %v", c.DNSNames, c.IPAddresses)
	}
	if !a.Certificate.IsCA || !a.Certificate.MaxPathLenZero {
		t.Error("the authority may sign authorities")
	}
}

func TestParseAuthorityNeverQuotesKeys(t *testing.T) {
	good, err := NewAuthority("shop/db", kubetest.Noon())
	if err != nil {
		t.Fatal(err)
	}
	broken := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("sesame")})
	for _, p := range []KeyPair{{}, {Certificate: good.Certificate}, {Certificate: good.Certificate, Key: broken},
		{Certificate: broken, Key: good.Key}} {
		_, err := NewSigner(p)
		if err == nil {
			t.Fatal("garbage is an authority")
		}
		if strings.Contains(err.Error(), "sesame") {
			t.Errorf("the error quotes the key: %v", err)
		}
	}
}
