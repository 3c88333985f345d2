package storetest

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

func clock(t *testing.T, s store.Store) {
	now, within, err := store.Clock(t.Context(), s)
	if err != nil || time.Since(now).Abs() > within+5*time.Second {
		t.Errorf("%v within %v, %v", now, within, err)
	}
	if got := Keys(t, s, ""); len(got) != 0 {
		t.Errorf("it left %q", got)
	}
}

func canceled(t *testing.T, s store.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantError(t, "put", s.Put(ctx, "c", []byte("x"), store.Options{}), context.Canceled)
	_, err := s.Head(ctx, "c")
	wantError(t, "head", err, context.Canceled)
	_, err = s.Head(t.Context(), "c")
	wantError(t, "head afterwards", err, store.ErrNotFound)
}

func limit(t *testing.T, s store.Store) {
	slow := store.Limit(s, 2<<20)
	began := time.Now()
	body := Noise(512 << 10)
	if err := slow.Put(t.Context(), "slow", body, store.Options{}); err != nil {
		t.Fatal(err)
	}
	got, err := store.ReadAll(t.Context(), slow, "slow", store.MaxPut)
	if err != nil || !bytes.Equal(got, body) {
		t.Fatal(len(got), err)
	}
	// A burst passes at once, and the rest of the mebibyte takes 3/8 of a second.
	if took := time.Since(began); took < 300*time.Millisecond {
		t.Errorf("it took %v", took)
	}
}
