package azure_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/azure"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

func TestStore(t *testing.T) {
	server := storetest.StartAzure(t)
	storetest.Run(t, func(t *testing.T) store.Store { return server.Open(t) })
}

func TestCapabilities(t *testing.T) {
	s := storetest.StartAzure(t).Open(t)
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

// TestTwoUploads: blocks of two uploads to one key must not mix.
func TestTwoUploads(t *testing.T) {
	s := storetest.StartAzure(t).Open(t)
	var uploads [2]store.Upload
	for i := range uploads {
		u, err := s.Upload(t.Context(), "x", store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := u.Part(t.Context(), 0, fmt.Appendf(nil, "upload %d", i)); err != nil {
			t.Fatal(err)
		}
		uploads[i] = u
	}
	if err := uploads[0].Commit(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if err := uploads[1].Commit(t.Context(), 1); !errors.Is(err, store.ErrExists) {
		t.Errorf("the second commit: %v", err)
	}
	if got := storetest.Content(t, s, "x"); got != "upload 0" {
		t.Errorf("it holds %q", got)
	}
}

func TestCredentials(t *testing.T) {
	server := storetest.StartAzure(t)
	c := server.Config(t)
	whole, err := azure.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	storetest.Put(t, whole, "x", "content")
	rights := sas.ContainerPermissions{Read: true, List: true}
	signed, err := whole.Client().GetSASURL(rights, time.Now().Add(time.Hour), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, token, _ := strings.Cut(signed, "?")
	with := func(name, value string) *azure.Store {
		c := c
		c.Credentials = func(asked string) string { return map[string]string{name: value}[asked] }
		s, err := azure.Open(c)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	reader := with("AZURE_STORAGE_SAS_TOKEN", token)
	if got := storetest.Content(t, reader, "x"); got != "content" {
		t.Errorf("a token that may read: %q", got)
	}
	if err := reader.Put(t.Context(), "y", nil, store.Options{}); !errors.Is(err, store.ErrDenied) {
		t.Errorf("a token that may not write: %v", err)
	}
	wrong := with("AZURE_STORAGE_KEY", "d3Jvbmc=")
	if _, err := wrong.Head(t.Context(), "x"); !errors.Is(err, store.ErrDenied) {
		t.Errorf("a wrong key: %v", err)
	}
	for _, secret := range []string{token, "d3Jvbmc="} {
		_, err := with("AZURE_STORAGE_SAS_TOKEN", token).Head(t.Context(), "none")
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("an error repeats a secret, or is missing: %v", err)
		}
	}
}

func TestNoContainer(t *testing.T) {
	c := storetest.StartAzure(t).Config(t)
	c.Container = "missing"
	s, err := azure.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.List(t.Context(), "", "")
	if err == nil || !strings.Contains(err.Error(), "there is no container missing; make it") {
		t.Error(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	good := azure.Config{Account: "a", Container: "c"}
	for name, change := range map[string]func(*azure.Config){
		"no account":   func(c *azure.Config) { c.Account = "" },
		"no container": func(c *azure.Config) { c.Container = "" },
		"prefix":       func(c *azure.Config) { c.Prefix = "a/../b" },
		"endpoint":     func(c *azure.Config) { c.Endpoint = "https://user:password@host" },
		"CA":           func(c *azure.Config) { c.CA = []byte("none") },
		"key":          func(c *azure.Config) { c.Credentials = func(string) string { return "!password" } },
	} {
		c := good
		change(&c)
		if _, err := azure.Open(c); err == nil || strings.Contains(err.Error(), "password") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
