package storetest

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

func putIfAbsent(t *testing.T, s store.Store) {
	Put(t, s, "a/b.json", "first")
	wantError(t, "a second put", s.Put(t.Context(), "a/b.json", []byte("second"), store.Options{}), store.ErrExists)
	if got := Content(t, s, "a/b.json"); got != "first" {
		t.Errorf("it holds %q", got)
	}
	Put(t, s, "empty", "")
	if got := Content(t, s, "empty"); got != "" {
		t.Errorf("the empty object holds %q", got)
	}
}

func oneOfManyWins(t *testing.T, s store.Store) {
	var group sync.WaitGroup
	var won atomic.Int32
	winner := make(chan string, 8)
	for i := range 8 {
		group.Go(func() {
			body := fmt.Sprintf("writer %d", i)
			err := s.Put(t.Context(), "race", []byte(body), store.Options{})
			switch {
			case err == nil:
				won.Add(1)
				winner <- body
			case !errors.Is(err, store.ErrExists):
				t.Error(err)
			}
		})
	}
	group.Wait()
	if won.Load() != 1 {
		t.Fatalf("%d writers won", won.Load())
	}
	if got := Content(t, s, "race"); got != <-winner {
		t.Errorf("it holds %q, which is not what the winner wrote", got)
	}
}

func putSame(t *testing.T, s store.Store) {
	for range 2 {
		if err := store.PutSame(t.Context(), s, "same", []byte("x"), store.Options{}); err != nil {
			t.Error(err)
		}
	}
	for _, other := range []string{"y", "", "xx"} {
		wantError(t, other, store.PutSame(t.Context(), s, "same", []byte(other), store.Options{}), store.ErrExists)
	}
}

func ranges(t *testing.T, s store.Store) {
	Put(t, s, "x", "0123456789")
	for _, c := range []struct {
		offset, length int64
		want           string
	}{{0, -1, "0123456789"}, {3, 4, "3456"}, {8, 10, "89"}, {9, -1, "9"}, {0, 10, "0123456789"}} {
		r, err := s.Get(t.Context(), "x", c.offset, c.length)
		if err != nil {
			t.Errorf("%d+%d: %v", c.offset, c.length, err)
			continue
		}
		got, err := io.ReadAll(r)
		if err = errors.Join(err, r.Close()); err != nil || string(got) != c.want {
			t.Errorf("%d+%d: %q, %v", c.offset, c.length, got, err)
		}
	}
}

func missing(t *testing.T, s store.Store) {
	if _, err := store.ReadAll(t.Context(), s, "none", 10); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("get: %v", err)
	}
	_, err := s.Head(t.Context(), "none")
	wantError(t, "head", err, store.ErrNotFound)
	if got := Keys(t, s, "none/"); len(got) != 0 {
		t.Errorf("listed %q", got)
	}
}

func keys(t *testing.T, s store.Store) {
	for _, key := range []string{"", "/a", "a/", "a//b", "../a", "a/../b", ".a", "a b", "a\n", "ä", "a%2f"} {
		wantError(t, "put of "+key, s.Put(t.Context(), key, nil, store.Options{}), store.ErrKey)
		_, err := s.Get(t.Context(), key, 0, -1)
		wantError(t, "get of "+key, err, store.ErrKey)
		wantError(t, "delete of "+key, s.Delete(t.Context(), key), store.ErrKey)
		_, err = s.Upload(t.Context(), key, store.Options{})
		wantError(t, "upload of "+key, err, store.ErrKey)
	}
}

func deleteTwice(t *testing.T, s store.Store) {
	Put(t, s, "d/x", "1")
	Put(t, s, "d/y", "1")
	for range 2 {
		if err := s.Delete(t.Context(), "d/x"); err != nil {
			t.Error(err)
		}
	}
	if d := cmp.Diff([]string{"d/y"}, Keys(t, s, "d/")); d != "" {
		t.Errorf("left (-want +got):\n%s", d)
	}
	Put(t, s, "d/x", "2")
	if got := Content(t, s, "d/x"); got != "2" {
		t.Errorf("put again, it holds %q", got)
	}
}
