package storetest

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

func uploadAll(ctx context.Context, s store.Store, key string, body []byte) error {
	u, err := s.Upload(ctx, key, store.Options{})
	if err != nil {
		return err
	}
	parts := (len(body) + store.PartSize - 1) / store.PartSize
	failed := make(chan error, parts)
	// The last part comes first: they arrive in any order.
	for n := parts - 1; n >= 0; n-- {
		go func() { failed <- u.Part(ctx, n, body[n*store.PartSize:min((n+1)*store.PartSize, len(body))]) }()
	}
	for range parts {
		err = errors.Join(err, <-failed)
	}
	if err != nil {
		return errors.Join(err, u.Abort(ctx))
	}
	if err := u.Commit(ctx, parts); err != nil {
		return errors.Join(err, u.Abort(ctx))
	}
	return u.Abort(ctx) // does nothing
}

func upload(t *testing.T, s store.Store) {
	body := Noise(2*store.PartSize + 12345)
	if err := uploadAll(t.Context(), s, "big", body); err != nil {
		t.Fatal(err)
	}
	got, err := store.ReadAll(t.Context(), s, "big", int64(len(body)))
	if err != nil || !bytes.Equal(got, body) {
		t.Errorf("read %d bytes of %d, %v", len(got), len(body), err)
	}
}

func uploadOnePart(t *testing.T, s store.Store) {
	for name, size := range map[string]int{"small": 7, "full": store.PartSize} {
		if err := uploadAll(t.Context(), s, name, Noise(size)); err != nil {
			t.Fatal(err)
		}
		if o, err := s.Head(t.Context(), name); err != nil || o.Size != int64(size) {
			t.Errorf("%+v, %v", o, err)
		}
	}
}

func uploadInvisible(t *testing.T, s store.Store) {
	u, err := s.Upload(t.Context(), "u/x", store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Part(t.Context(), 0, []byte("half")); err != nil {
		t.Fatal(err)
	}
	_, err = s.Head(t.Context(), "u/x")
	wantError(t, "head before commit", err, store.ErrNotFound)
	if got := Keys(t, s, ""); len(got) != 0 {
		t.Errorf("listed %q before commit", got)
	}
	for range 2 {
		if err := u.Abort(t.Context()); err != nil {
			t.Error(err)
		}
	}
	_, err = s.Head(t.Context(), "u/x")
	wantError(t, "head after abort", err, store.ErrNotFound)
}

func uploadExists(t *testing.T, s store.Store) {
	Put(t, s, "taken", "first")
	wantError(t, "an upload over it", uploadAll(t.Context(), s, "taken", []byte("second")), store.ErrExists)
	if got := Content(t, s, "taken"); got != "first" {
		t.Errorf("it holds %q", got)
	}
}

func sweep(t *testing.T, s store.Store) {
	Put(t, s, "whole", "x")
	u, err := s.Upload(t.Context(), "left/x", store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Part(t.Context(), 0, []byte("half")); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Sweep(t.Context(), "", time.Now().Add(-time.Hour)); n != 0 || err != nil {
		t.Errorf("a young upload: swept %d, %v", n, err)
	}
	later := time.Now().Add(time.Hour)
	if n, err := s.Sweep(t.Context(), "other/", later); n != 0 || err != nil {
		t.Errorf("another prefix: swept %d, %v", n, err)
	}
	if _, err := s.Sweep(t.Context(), "left/", later); err != nil {
		t.Error(err)
	}
	if err := u.Commit(t.Context(), 1); err == nil {
		// Azure and Google forget parts by themselves; there is nothing to sweep.
		t.Log("this store sweeps by itself")
	}
	if got := Content(t, s, "whole"); got != "x" {
		t.Errorf("the other object holds %q", got)
	}
}
