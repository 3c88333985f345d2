package certificate

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// write puts a new certificate into the files. It signs itself, so it is the authority too.
func write(t *testing.T, f Files, name string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now(),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
	for path, content := range map[string][]byte{
		f.Certificate: certificate, f.Authority: certificate,
		f.Key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func files(t *testing.T) Files {
	t.Helper()
	d := t.TempDir()
	f := Files{Certificate: filepath.Join(d, "c"), Key: filepath.Join(d, "k"), Authority: filepath.Join(d, "a")}
	write(t, f, "first")
	return f
}

func (k *Keeper) name() string { return k.Identity().Own.Leaf.Subject.CommonName }

// TestFollow: another certificate is in force once the server took it, and is offered again until then.
func TestFollow(t *testing.T) {
	t.Parallel()
	f := files(t)
	k, err := Open(f)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		refusal, offered := errors.New("not yet"), 0
		var said []string
		ctx, stop := context.WithCancel(t.Context())
		go k.Run(ctx, func(context.Context) error { offered++; return refusal }, func(s string) { said = append(said, s) })
		time.Sleep(5 * checkInterval)
		if offered != 0 {
			t.Error("the server is asked to take what it has")
		}
		write(t, f, "second")
		time.Sleep(5 * checkInterval)
		if offered < 2 || k.name() != "first" || len(said) == 0 || !strings.Contains(said[0], "not yet") {
			t.Errorf("offered %d times, %s is in force, reported %q", offered, k.name(), said)
		}
		refusal = nil
		time.Sleep(2 * checkInterval)
		if k.name() != "second" {
			t.Errorf("%s is in force after the server took the second", k.name())
		}
		last := offered
		if err := os.WriteFile(f.Key, []byte("no key"), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * checkInterval)
		if offered != last || k.name() != "second" {
			t.Errorf("a key that can't be read is offered %d times, %s is in force", offered-last, k.name())
		}
		stop()
		synctest.Wait()
	})
}

func TestServes(t *testing.T) {
	t.Parallel()
	f := files(t)
	k, err := Open(f)
	if err != nil {
		t.Fatal(err)
	}
	asked := func() error {
		ours, theirs := net.Pipe()
		go func() {
			s := tls.Server(theirs, &tls.Config{Certificates: []tls.Certificate{k.Identity().Own}})
			_ = s.HandshakeContext(t.Context())
			_ = theirs.Close()
		}()
		return f.Serves(t.Context(), ours)
	}
	if err := asked(); err != nil {
		t.Error(err)
	}
	write(t, f, "second")
	if err := asked(); err == nil || !strings.Contains(err.Error(), "another certificate") {
		t.Errorf("a server with the certificate from before: %v", err)
	}
}
