package s3_test

import (
	"errors"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/s3"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

func TestStore(t *testing.T) {
	server := storetest.StartS3(t)
	storetest.Run(t, func(t *testing.T) store.Store { return server.Open(t) })
}

func TestRetention(t *testing.T) {
	server := storetest.StartS3(t)
	s, err := s3.Open(server.Config(t, true))
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Capabilities(t.Context())
	if want := (store.Capabilities{Retention: true, Versioning: true, Checksums: true}); err != nil || c != want {
		t.Errorf("%+v, %v", c, err)
	}
	if ok, err := s.EnforcesRetention(t.Context()); !ok || err != nil {
		t.Error(ok, err)
	}
	until := time.Now().Add(time.Hour)
	if err := s.Put(t.Context(), "kept", []byte("x"), store.Options{RetainUntil: until}); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), "kept"); !errors.Is(err, store.ErrRetained) {
		t.Error(err)
	}
	if got := storetest.Content(t, s, "kept"); got != "x" {
		t.Error(got)
	}
}

func TestWithoutRetention(t *testing.T) {
	s := storetest.StartS3(t).Open(t)
	c, err := s.Capabilities(t.Context())
	if want := (store.Capabilities{Checksums: true}); err != nil || c != want {
		t.Errorf("%+v, %v", c, err)
	}
	err = s.Put(t.Context(), "kept", nil, store.Options{RetainUntil: time.Now().Add(time.Hour)})
	if !errors.Is(err, store.ErrUnsupported) {
		t.Error(err)
	}
}

func TestWrongCredentials(t *testing.T) {
	c := storetest.StartS3(t).Config(t, false)
	c.Credentials = func(name string) string {
		if name == "AWS_SECRET_ACCESS_KEY" {
			return "wrong"
		}
		return storetest.Credentials(name)
	}
	s, err := s3.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	_, head := s.Head(t.Context(), "x")
	_, list := s.List(t.Context(), "", "")
	put := s.Put(t.Context(), "x", nil, store.Options{})
	for what, err := range map[string]error{"head": head, "list": list, "put": put} {
		if !errors.Is(err, store.ErrDenied) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestUnknownAuthority(t *testing.T) {
	c := storetest.StartS3(t).Config(t, false)
	c.CA = nil
	s, err := s3.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), "x", nil, store.Options{}); err == nil {
		t.Error("an unknown authority is trusted")
	}
}

func TestOpenRefuses(t *testing.T) {
	for name, c := range map[string]s3.Config{
		"no bucket":    {},
		"password":     {Bucket: "b", Endpoint: "https://user:secret@host"},
		"path":         {Bucket: "b", Endpoint: "https://host/path"},
		"scheme":       {Bucket: "b", Endpoint: "ftp://host"},
		"prefix":       {Bucket: "b", Prefix: "a/../b"},
		"checksum":     {Bucket: "b", Checksum: "always"},
		"retention":    {Bucket: "b", Retention: "ever"},
		"no authority": {Bucket: "b", CA: []byte("nothing")},
	} {
		if _, err := s3.Open(c); err == nil {
			t.Errorf("%s: opened", name)
		}
	}
}
