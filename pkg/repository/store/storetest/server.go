package storetest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/port"
)

// Program finds a server that "make stores" built, or skips the test.
func Program(t testing.TB, name string) string {
	t.Helper()
	dir := os.Getenv("DBOP_TEST_STORES_BIN")
	if dir == "" {
		home, err := os.UserCacheDir()
		if err != nil {
			t.Skipf("no %s to test with: %v", name, err)
		}
		dir = filepath.Join(home, "dbop-stores")
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no %s to test with: run make stores (%v)", name, err)
	}
	return path
}

// Start runs a server until the test ends, or until it is stopped, and waits until it accepts connections.
func Start(t testing.TB, address string, env []string, name string, args ...string) (stop func()) {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), name, args...)
	cmd.Env = append(os.Environ(), env...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var failure error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		failure = cmd.Wait()
	}()
	stop = func() {
		_ = cmd.Process.Kill()
		<-ended
	}
	t.Cleanup(stop)
	deadline := time.Now().Add(time.Minute)
	for {
		c, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			_ = c.Close()
			return stop
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not listen on %s: %v", name, address, err)
		}
		select {
		case <-ended:
			t.Fatalf("%s ended, and should serve: %v", name, failure)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// FreeAddress is one of the loopback interface that nobody has until the test ends.
func FreeAddress(t testing.TB) string {
	t.Helper()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port.Free(t)))
}

// Certificate makes one for the loopback interface. It is its own authority.
func Certificate(t testing.TB) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "store"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
}
