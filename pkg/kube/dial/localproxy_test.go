package dial

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
)

// member is a server that takes certificates of its authority and says the
// name in them, and who may dial it.
func member(t *testing.T) (address string, secure *tls.Config) {
	t.Helper()
	p, err := pki.NewAuthority("db", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	a, err := pki.NewSigner(p)
	if err != nil {
		t.Fatal(err)
	}
	pair := func(issued pki.KeyPair, err error) tls.Certificate {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		c, err := tls.X509KeyPair(issued.Certificate, issued.Key)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	pool := x509.NewCertPool()
	pool.AddCert(a.Certificate)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"},
		ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
		Certificates: []tls.Certificate{pair(a.IssueMember("db-1", []string{"db-1.db"}, time.Now()))}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				served := c.(*tls.Conn)
				if served.Handshake() == nil {
					state := served.ConnectionState()
					_, _ = io.WriteString(c, state.PeerCertificates[0].Subject.CommonName+" "+state.NegotiatedProtocol)
				}
			}()
		}
	}()
	return l.Addr().String(), &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool, ServerName: "db-1.db",
		Certificates: []tls.Certificate{pair(a.IssueClient("root", time.Now()))}}
}

func dialing(address string) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "tcp", address) }
}

// program speaks through a doorway as one would that is told its files.
func program(t *testing.T, d *LocalProxy) (string, error) {
	t.Helper()
	file := func(name string) string { return filepath.Join(d.Directory, name) }
	pair, err := tls.LoadX509KeyPair(file("tls.crt"), file("tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(file("ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	return heard(tls.Dial("tcp", d.Address, &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots,
		Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2"}}))
}

func heard(c net.Conn, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer c.Close()
	said, err := io.ReadAll(c)
	return string(said), err
}

func TestLocalProxy(t *testing.T) {
	t.Parallel()
	address, secure := member(t)
	d, err := OpenLocalProxy(secure, dialing(address))
	if err != nil {
		t.Fatal(err)
	}
	if said, err := program(t, d); err != nil || said != "root h2" {
		t.Errorf("the program hears %q, %v", said, err)
	}
	// Another program on this machine finds the port and gets no further.
	if said, err := heard(tls.Dial("tcp", d.Address, &tls.Config{InsecureSkipVerify: true})); err == nil || said != "" {
		t.Errorf("another program hears %q, %v", said, err)
	}
	plain, err := net.Dial("tcp", d.Address)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(plain, "let me in")
	if said, _ := heard(plain, nil); strings.Contains(said, "root") {
		t.Errorf("another program without TLS hears %q", said)
	}
	if info, err := os.Stat(d.Directory); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory: %v, %v", info, err)
	}
	// Its key is worth nothing at the member itself.
	pair, err := tls.LoadX509KeyPair(filepath.Join(d.Directory, "tls.crt"), filepath.Join(d.Directory, "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	if said, _ := heard(tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true,
		Certificates: []tls.Certificate{pair}})); said != "" {
		t.Errorf("the member says %q to the doorway's own key", said)
	}
	if err := errors.Join(d.Err(), d.Close()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(d.Directory); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("files are left: %v", err)
	}
	if _, err := net.Dial("tcp", d.Address); err == nil {
		t.Error("the port is still open")
	}
}

func TestLocalProxyInPlainText(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err == nil {
			_, _ = io.Copy(c, io.LimitReader(c, 2))
			_ = c.Close()
		}
	}()
	d, err := OpenLocalProxy(nil, dialing(l.Addr().String()))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	c, err := net.Dial("tcp", d.Address)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(c, "hi")
	if said, err := heard(c, nil); said != "hi" || err != nil || d.Directory != "" {
		t.Errorf("heard %q, %v; files in %q", said, err, d.Directory)
	}
}

// TestLocalProxyClosesOverAnOpenConnection: the command ends, whatever the program does.
func TestLocalProxyClosesOverAnOpenConnection(t *testing.T) {
	t.Parallel()
	hanging, silent := net.Pipe()
	defer silent.Close()
	d, err := OpenLocalProxy(nil, func(context.Context) (net.Conn, error) { return hanging, nil })
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", d.Address)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.WriteString(c, "anybody?") }()
	_, _ = silent.Read(make([]byte, 1))
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("the connection is still open")
	}
}

func TestLocalProxySaysWhyNobodyAnswers(t *testing.T) {
	t.Parallel()
	gone := errors.New("the pod is gone")
	d, err := OpenLocalProxy(nil, func(context.Context) (net.Conn, error) { return nil, gone })
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if said, _ := heard(net.Dial("tcp", d.Address)); said != "" {
		t.Errorf("heard %q", said)
	}
	if err := d.Err(); !errors.Is(err, gone) {
		t.Errorf("%v", err)
	}
}
