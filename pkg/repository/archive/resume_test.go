package archive

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

// TestKilledAtEveryRequest ends a backup at each request, before it arrives or before it is answered, and
// repeats it: what comes out is whole, and no attempt is visible before.
func TestKilledAtEveryRequest(t *testing.T) {
	keys, _ := testKeys(t)
	body := pages(5 << 20)
	for _, lost := range []string{"request", "answer"} {
		for n := 1; ; n++ {
			s := directory(t)
			f := &storetest.Fault{Store: s}
			if lost == "request" {
				f.Before = storetest.FailAt(n)
			} else {
				f.After = storetest.FailAt(n)
			}
			r := request("b", "op-1", "staged file")
			_, err := save(t, Open(f, keys), r, body)
			if f.Calls() < n {
				if n < 15 {
					t.Errorf("a backup takes only %d requests", n)
				}
				break
			}
			a := Open(s, keys)
			if got, found := load(t, a, "b"); found == nil && !bytes.Equal(got, body) {
				t.Fatalf("%s %d: a wrong backup is visible after %v", lost, n, err)
			}
			if _, err := save(t, a, r, body); err != nil {
				t.Fatalf("%s %d: the repeat: %v", lost, n, err)
			}
			if got, err := load(t, a, "b"); err != nil || !bytes.Equal(got, body) {
				t.Fatalf("%s %d: %v", lost, n, err)
			}
		}
	}
}

// TestResume counts what a repeat sends.
func TestResume(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		keys, _ := testKeys(t)
		body := pages(20 << 20)
		r := request("b", "op-1", "staged file")
		cut := io.MultiReader(bytes.NewReader(body[:17<<20]), &failing{})
		w, _, err := Open(s, keys).Begin(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		w.limit = func(int) int64 { return 1 << 20 }
		if err := w.Stream(t.Context(), "snapshot.db", cut); !errors.Is(err, errCut) {
			t.Fatalf("the first run: %v", err)
		}
		stored := len(storetest.Keys(t, s, kindData+"/"))
		puts := 0
		f := &storetest.Fault{Store: s, Before: func(c storetest.Call) error {
			if c.Name == "put" && strings.HasPrefix(c.Key, kindData+"/") || c.Name == "upload" {
				puts++
			}
			return nil
		}}
		m, err := save(t, Open(f, keys), r, body)
		if err != nil {
			t.Fatal(err)
		}
		if all := len(m.Streams[0].Volumes); stored < 3 || puts != all-stored {
			t.Errorf("the second run sent %d of %d volumes, and %d were there", puts, all, stored)
		}
		if got, err := load(t, Open(s, keys), "b"); err != nil || !bytes.Equal(got, body) {
			t.Error(err)
		}
	})
}

func TestResumeOfAnotherSource(t *testing.T) {
	keys, _ := testKeys(t)
	a := Open(directory(t), keys)
	body := pages(20 << 20)
	w, _, err := a.Begin(t.Context(), request("b", "op-1", "staged file"))
	if err != nil {
		t.Fatal(err)
	}
	w.limit = func(int) int64 { return 1 << 20 }
	_ = w.Stream(t.Context(), "snapshot.db", io.MultiReader(bytes.NewReader(body[:17<<20]), &failing{}))
	changed := bytes.Clone(body)
	changed[5<<20]++
	if _, err := save(t, a, request("b", "op-1", "staged file"), changed); !errors.Is(err, ErrSource) {
		t.Errorf("the same name for other content: %v", err)
	}
	if _, err := save(t, a, request("b", "op-1", "another file"), changed); err != nil {
		t.Errorf("another source: %v", err)
	}
	if got, err := load(t, a, "b"); err != nil || !bytes.Equal(got, changed) {
		t.Error(err)
	}
}

var errCut = errors.New("the stream was cut")

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errCut }

// TestCutStream holds that a source that ends with an error makes no backup, io.ErrUnexpectedEOF included.
func TestCutStream(t *testing.T) {
	keys, _ := testKeys(t)
	a := Open(directory(t), keys)
	for _, cut := range []error{errCut, io.ErrUnexpectedEOF} {
		w, _, err := a.Begin(t.Context(), request("b", "op-1", ""))
		if err != nil {
			t.Fatal(err)
		}
		r := io.MultiReader(bytes.NewReader(pages(5<<20)), readError{cut})
		if err := w.Stream(t.Context(), "snapshot.db", r); !errors.Is(err, cut) {
			t.Error(err)
		}
	}
}

type readError struct{ err error }

func (r readError) Read([]byte) (int, error) { return 0, r.err }

// TestFullAndRevoked ends a backup by what stores say, which must come through typed.
func TestFullAndRevoked(t *testing.T) {
	keys, _ := testKeys(t)
	for _, want := range []error{store.ErrFull, store.ErrDenied} {
		s := directory(t)
		f := &storetest.Fault{Store: s, Before: func(c storetest.Call) error {
			if c.Number > 6 {
				return want
			}
			return nil
		}}
		if _, err := save(t, Open(f, keys), request("b", "op-1", ""), pages(9<<20)); !errors.Is(err, want) {
			t.Errorf("%v: %v", want, err)
		}
		if _, err := load(t, Open(s, keys), "b"); !errors.Is(err, ErrNotFound) {
			t.Errorf("after %v: %v", want, err)
		}
	}
}
