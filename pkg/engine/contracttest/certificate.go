package contracttest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// showWithin bounds a handshake without a network.
const showWithin = 10 * time.Second

// presented asks for the certificate of a member, which ran out: also then somebody must be able to see it.
func presented(t testing.TB, c Case) {
	if c.Cluster.Spec.TLS.Disabled {
		return
	}
	own := ranOut(t)
	dial := func(context.Context, string, int) (net.Conn, error) {
		near, far := net.Pipe()
		t.Cleanup(func() { _ = far.Close() })
		go func() {
			_ = tls.Server(far, &tls.Config{Certificates: []tls.Certificate{own}, // #nosec G402 -- what a member may serve
				ClientAuth: tls.RequireAnyClientCert, NextProtos: []string{"h2", "http/1.1"}}).HandshakeContext(t.Context())
		}()
		return near, nil
	}
	session, err := c.Engine.Connect(engine.Access{Cluster: c.Cluster, Dial: dial,
		TLS: &tls.Config{RootCAs: x509.NewCertPool(), Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS12}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	presenter, ok := session.(engine.Presenter)
	if !ok {
		t.Fatal("the members serve certificates, and the session is no Presenter: nobody sees when they run out")
	}
	ctx, cancel := context.WithTimeout(t.Context(), showWithin)
	defer cancel()
	got, err := presenter.Present(ctx, c.View.Members[0].Name)
	if err != nil {
		t.Fatal(err)
	}
	want := engine.PresentedBy(own.Leaf)
	got.Accepts = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what a member shows (-want +got):\n%s", diff)
	}
}

// ranOut is a certificate whose time is over.
func ranOut(t testing.TB) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	over := time.Now().Add(-time.Hour).UTC().Truncate(time.Second)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "member"},
		NotBefore: over.Add(-time.Hour), NotAfter: over}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key, Leaf: leaf}
}
