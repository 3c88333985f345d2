package storetest

import (
	"crypto/rand"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/azure"
)

// Azure is an Azurite with TLS.
type Azure struct {
	endpoint, key string
	ca            []byte
}

// StartAzure runs Azurite, or skips the test where it was not installed.
func StartAzure(t testing.TB) *Azure {
	t.Helper()
	program, dir, address := Program(t, "azurite"), t.TempDir(), FreeAddress(t)
	cert, key := Certificate(t)
	for name, content := range map[string][]byte{"cert.pem": cert, "key.pem": key} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	account := base64.StdEncoding.EncodeToString([]byte(rand.Text()))
	host, port, _ := strings.Cut(address, ":")
	Start(t, address, []string{"AZURITE_ACCOUNTS=test:" + account}, program, "--blobHost", host, "--blobPort", port,
		"--location", dir, "--cert", filepath.Join(dir, "cert.pem"), "--key", filepath.Join(dir, "key.pem"), "--silent",
		"--skipApiVersionCheck", "--disableTelemetry")
	return &Azure{endpoint: "https://" + address, key: account, ca: cert}
}

// Config names a new container.
func (a *Azure) Config(t testing.TB) azure.Config {
	t.Helper()
	c := azure.Config{
		Account: "test", Container: "test-" + strings.ToLower(rand.Text()), Prefix: "some/prefix", Endpoint: a.endpoint,
		PathStyle: true, CA: a.ca,
		Credentials: func(name string) string { return map[string]string{"AZURE_STORAGE_KEY": a.key}[name] },
	}
	s, err := azure.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Client().Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return c
}

// Open opens a new container.
func (a *Azure) Open(t testing.TB) *azure.Store {
	t.Helper()
	s, err := azure.Open(a.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}
