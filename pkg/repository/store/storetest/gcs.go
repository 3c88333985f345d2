package storetest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/gcs"
)

// GCS is a fake-gcs-server with TLS, which asks for no token, and a server that gives tokens.
type GCS struct {
	endpoint, key string
	ca            []byte
}

// Token is what a service account gets of AccountKey.
const Token = "token-of-the-test"

// StartGCS runs fake-gcs-server, or skips the test where it was not built.
func StartGCS(t testing.TB) *GCS {
	t.Helper()
	program, dir, address := Program(t, "fake-gcs-server"), t.TempDir(), FreeAddress(t)
	cert, key := Certificate(t)
	for name, content := range map[string][]byte{"cert.pem": cert, "key.pem": key} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	host, port, _ := strings.Cut(address, ":")
	Start(t, address, nil, program, "-scheme", "https", "-host", host, "-port", port, "-public-host", address,
		"-backend", "memory", "-log-level", "error", "-cert-location", filepath.Join(dir, "cert.pem"),
		"-private-key-location", filepath.Join(dir, "key.pem"))
	return &GCS{endpoint: "https://" + address, key: AccountKey(t), ca: cert}
}

// AccountKey is the key file of a service account, for which a server of the test gives Token.
func AccountKey(t testing.TB) string {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.PostFormValue("assertion") == "" {
			http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"access_token": Token, "token_type": "Bearer", "expires_in": 3600})
	}))
	t.Cleanup(server.Close)
	content, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "test@example.com", "token_uri": server.URL,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// Config names a new bucket.
func (g *GCS) Config(t testing.TB) gcs.Config {
	t.Helper()
	c := gcs.Config{
		Bucket: "test-" + strings.ToLower(rand.Text()), Prefix: "some/prefix", Endpoint: g.endpoint, CA: g.ca,
		Credentials: func(name string) string { return map[string]string{gcs.CredentialKey: g.key}[name] },
	}
	s, err := gcs.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.MakeBucket(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	return c
}

// Open opens a new bucket.
func (g *GCS) Open(t testing.TB) *gcs.Store {
	t.Helper()
	s, err := gcs.Open(g.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}
