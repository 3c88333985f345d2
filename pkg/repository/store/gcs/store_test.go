package gcs_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/gcs"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

func TestStore(t *testing.T) {
	server := storetest.StartGCS(t)
	storetest.Run(t, func(t *testing.T) store.Store { return server.Open(t) })
}

func TestCapabilities(t *testing.T) {
	s := storetest.StartGCS(t).Open(t)
	if c, err := s.Capabilities(t.Context()); err != nil || c != (store.Capabilities{Checksums: true}) {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := store.Probe(t.Context(), s, false); err != nil {
		t.Error(err)
	}
	if _, err := store.Probe(t.Context(), s, true); !errors.Is(err, store.ErrLies) {
		t.Errorf("retention is required: %v", err)
	}
	err := s.Put(t.Context(), "kept", nil, store.Options{RetainUntil: time.Now().Add(time.Hour)})
	if !errors.Is(err, store.ErrUnsupported) {
		t.Error(err)
	}
}

func TestNoBucket(t *testing.T) {
	c := storetest.StartGCS(t).Config(t)
	c.Bucket = "none"
	s, err := gcs.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	_, started := s.Upload(t.Context(), "x", store.Options{})
	_, listed := s.List(t.Context(), "", "")
	for _, err := range []error{s.Put(t.Context(), "x", nil, store.Options{}), started, listed} {
		if err == nil || errors.Is(err, store.ErrNotFound) || !strings.Contains(err.Error(), "there is no bucket none") {
			t.Error(err)
		}
	}
}

// TestCredentials: the key of a Secret, Google's own variable, and answers of a store that denies.
func TestCredentials(t *testing.T) {
	key := storetest.AccountKey(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+storetest.Token {
			http.Error(w, `{"error":{"message":"no"}}`, http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(`{"name":"x","size":"7"}`))
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "key.json")
	if err := os.WriteFile(file, []byte(key), 0o600); err != nil {
		t.Fatal(err)
	}
	head := func(secret string) error {
		s, err := gcs.Open(gcs.Config{Bucket: "b", Endpoint: server.URL, Credentials: func(string) string { return secret }})
		if err != nil {
			return err
		}
		_, err = s.Head(t.Context(), "x")
		return err
	}
	if err := head(key); err != nil {
		t.Errorf("a key: %v", err)
	}
	t.Setenv(gcs.CredentialFile, file)
	if err := head(""); err != nil {
		t.Errorf("a file that the environment names: %v", err)
	}
	t.Setenv(gcs.CredentialFile, file+".gone")
	if err := head(""); !errors.Is(err, store.ErrDenied) {
		t.Errorf("no file: %v", err)
	}
	revoked := strings.Replace(key, `"token_uri":"`, `"token_uri":"`+server.URL+`/revoked?`, 1)
	if err := head(revoked); !errors.Is(err, store.ErrDenied) {
		t.Errorf("no token: %v", err)
	}
	other := strings.Replace(key, `"service_account"`, `"external_account"`, 1)
	for _, wrong := range []string{"geheim", `{"type":"service_account","private_key":"geheim"}`, other} {
		if err := head(wrong); err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%.30s: %v", wrong, err)
		}
	}
}

func TestConfig(t *testing.T) {
	for name, c := range map[string]gcs.Config{
		"no bucket":    {},
		"a prefix":     {Bucket: "b", Prefix: "../x"},
		"an endpoint":  {Bucket: "b", Endpoint: "https://me:geheim@host"},
		"a path":       {Bucket: "b", Endpoint: "https://host/path"},
		"a CA":         {Bucket: "b", CA: []byte("no PEM")},
		"a bucket/key": {Bucket: "a/b"},
	} {
		if _, err := gcs.Open(c); err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v", name, err)
		}
	}
	s, err := gcs.Open(gcs.Config{Bucket: "b", Prefix: "/a/b/"})
	if err != nil || s.URL() != "gs://b/a/b" {
		t.Errorf("%v, %v", s, err)
	}
}
