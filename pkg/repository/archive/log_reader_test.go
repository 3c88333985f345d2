package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// watchedStore tells which objects were asked for, and refuses one of them once.
type watchedStore struct {
	store.Store

	mu     sync.Mutex
	asked  []string
	refuse string
}

var errAway = errors.New("the store is away")

func (w *watchedStore) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, key)
	if w.refuse == key {
		w.refuse = ""
		return nil, errAway
	}
	return w.Store.Get(ctx, key, offset, length)
}

// take returns what was asked for since the last call, sorted.
func (w *watchedStore) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	asked := w.asked
	w.asked = nil
	slices.Sort(asked)
	return asked
}

// TestLogReader reads segments in order, each once, and one more before it is asked for.
func TestLogReader(t *testing.T) {
	keys, _ := testKeys(t)
	s := directory(t)
	l := Open(s, keys).Log(scope, "1")
	for n := range 6 {
		if err := l.Append(t.Context(), numbered(n), fmt.Append(nil, "segment ", n)); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		w := &watchedStore{Store: s}
		l := Open(w, keys).Log(scope, "1")
		all, err := l.Segments(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r := l.Reader(all)
		expect := func(n int, asked ...int) {
			t.Helper()
			body, err := r.Read(t.Context(), "1", numbered(n).Name)
			if want := fmt.Sprint("segment ", n); err != nil || string(body) != want {
				t.Errorf("read %q, %v, want %q", body, err, want)
			}
			synctest.Wait()
			var keys []string
			for _, i := range asked {
				keys = append(keys, all[i].key)
			}
			if got := w.take(); !slices.Equal(got, keys) {
				t.Errorf("reading %d asked for %v, want %v", n, got, keys)
			}
		}
		expect(0, 0, 1)
		expect(1, 2)
		expect(4, 4, 5)
		expect(5)
		// What was read ahead in vain is asked for once more.
		w.refuse = all[1].key
		expect(0, 0, 1)
		expect(1, 1, 2)
	})
}

// TestLogReaderLater finds what was appended after the log was listed, and refuses a name that two segments have.
func TestLogReaderLater(t *testing.T) {
	keys, _ := testKeys(t)
	s := directory(t)
	l := Open(s, keys).Log(scope, "1")
	for n := range 2 {
		if err := l.Append(t.Context(), numbered(n), pages(10)); err != nil {
			t.Fatal(err)
		}
	}
	all, err := l.Segments(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	another := all[1]
	another.hash = "other"
	another.Stored = time.Time{}
	r := l.Reader(append(all, another))
	if _, err := r.Read(t.Context(), "1", all[1].Name); !errors.Is(err, ErrConflict) {
		t.Errorf("two of a name: %v", err)
	}
	if _, err := r.Read(t.Context(), "1", all[0].Name); err != nil {
		t.Error(err)
	}
	if _, err := r.Read(t.Context(), "1", numbered(3).Name); !errors.Is(err, ErrNotFound) {
		t.Errorf("one that is missing: %v", err)
	}
	if err := l.Append(t.Context(), numbered(3), pages(10)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(t.Context(), "1", numbered(3).Name); err != nil {
		t.Errorf("one that came later: %v", err)
	}
}
