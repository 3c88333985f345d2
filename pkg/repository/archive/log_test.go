package archive

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/volume"
)

var logTime = time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)

func numbered(n int) Segment {
	return Segment{
		Timeline: "1", Name: fmt.Sprintf("%024d", n), Start: fmt.Sprintf("0/%X", n), End: fmt.Sprintf("0/%X", n+1),
		Time: logTime.Add(time.Duration(n) * time.Second),
	}
}

// TestThousandSegments appends them from many goroutines that are killed all the time, and repeat.
func TestThousandSegments(t *testing.T) {
	keys, _ := testKeys(t)
	s := directory(t)
	const segments, writers = 1000, 16
	acknowledged := make([]bool, segments)
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			r := rand.New(rand.NewPCG(7, uint64(w)))
			for n := w; n < segments; n += writers {
				for attempt := 0; !acknowledged[n]; attempt++ {
					f := &storetest.Fault{Store: s}
					if attempt < 2 && r.IntN(3) > 0 {
						f.Before = storetest.FailAt(1 + r.IntN(3))
					} else if attempt < 2 {
						f.After = storetest.FailAt(1 + r.IntN(3))
					}
					err := Open(f, keys).Log(scope, "1").Append(t.Context(), numbered(n), fmt.Append(nil, "segment ", n))
					acknowledged[n] = err == nil
					if err != nil && !errors.Is(err, storetest.ErrFault) {
						t.Errorf("segment %d: %v", n, err)
						return
					}
				}
			}
		})
	}
	group.Wait()
	l := Open(s, keys).Log(scope, "1")
	w, err := l.Window(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Ranges) != 1 || w.Ranges[0].Segments != segments || len(w.Conflicts) != 0 {
		t.Fatalf("%+v", w)
	}
	all, err := l.Segments(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < segments; n += 97 {
		if body, err := l.Read(t.Context(), all[n]); err != nil || string(body) != fmt.Sprint("segment ", n) {
			t.Errorf("segment %d: %q, %v", n, body, err)
		}
	}
}

func TestSegment(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		keys, _ := testKeys(t)
		l := Open(s, keys).Log(scope, "1")
		long := Segment{
			Timeline: "24bc7850-2c16-11e6-a073-0242ac110002", Name: "binlog.000001", Time: logTime,
			Start: "24bc7850-2c16-11e6-a073-0242ac110002:1-7",
			End:   strings.Repeat("24bc7850-2c16-11e6-a073-0242ac110002:1-7,", 9),
		}
		body := pages(5 << 20)
		for range 2 {
			if err := l.Append(t.Context(), long, body); err != nil {
				t.Fatal(err)
			}
		}
		all, err := l.Segments(t.Context())
		if err != nil || len(all) != 1 || all[0].Name != long.Name || all[0].Timeline != long.Timeline ||
			!all[0].Time.Equal(logTime) {
			t.Fatalf("%+v, %v", all, err)
		}
		if got, err := l.Read(t.Context(), all[0]); err != nil || !bytes.Equal(got, body) {
			t.Errorf("read %d bytes, %v", len(got), err)
		}
		other := bytes.Clone(body)
		other[0]++
		if err := l.Append(t.Context(), long, other); !errors.Is(err, ErrConflict) {
			t.Errorf("other bytes: %v", err)
		}
		elsewhere := long
		elsewhere.Start = "another"
		if err := l.Append(t.Context(), elsewhere, body); !errors.Is(err, ErrConflict) {
			t.Errorf("another position: %v", err)
		}
		if all, err := l.Segments(t.Context()); err != nil || len(all) != 1 {
			t.Errorf("a refused segment stays: %+v, %v", all, err)
		}
	})
}

// TestTwoHistories has two servers append the same name at the same time: at most one is told that it is stored.
func TestTwoHistories(t *testing.T) {
	keys, _ := testKeys(t)
	for range 50 {
		s := directory(t)
		var group sync.WaitGroup
		errs := make([]error, 2)
		for i := range errs {
			group.Go(func() {
				errs[i] = Open(s, keys).Log(scope, "1").Append(t.Context(), numbered(1), fmt.Append(nil, "server ", i))
			})
		}
		group.Wait()
		all, err := Open(s, keys).Log(scope, "1").Segments(t.Context())
		switch {
		case err != nil:
			t.Fatal(err)
		case errs[0] == nil && errs[1] == nil:
			t.Fatal("both are stored")
		case (errs[0] == nil || errs[1] == nil) && len(all) != 1:
			t.Fatalf("one was told that it is stored, and the log has %+v", all)
		}
	}
}

// TestAppendToLiar: a store that answers that it has a segment, and lost it or a part of it, is not believed. A repeat
// stores it.
func TestAppendToLiar(t *testing.T) {
	keys, _ := testKeys(t)
	for name, harm := range map[string]func(s store.Store, key string){
		"lost": func(s store.Store, key string) {
			if err := s.Delete(t.Context(), key); err != nil {
				t.Error(err)
			}
		},
		"cut": func(s store.Store, key string) {
			replace(t, s, key, []byte(storetest.Content(t, s, key))[:100])
		},
	} {
		s := directory(t)
		f := &storetest.Fault{Store: s, After: func(c storetest.Call) error {
			if c.Name == "put" {
				harm(s, c.Key)
			}
			return nil
		}}
		body := pages(5000)
		if err := Open(f, keys).Log(scope, "1").Append(t.Context(), numbered(1), body); err == nil {
			t.Errorf("%s: it is appended", name)
		}
		l := Open(s, keys).Log(scope, "1")
		err := l.Append(t.Context(), numbered(1), body)
		all, err2 := l.Segments(t.Context())
		if err := errors.Join(err, err2); err != nil || len(all) != 1 {
			t.Fatalf("%s: the repeat: %v, %v", name, all, err)
		}
		if got, err := l.Read(t.Context(), all[0]); err != nil || !bytes.Equal(got, body) {
			t.Errorf("%s: the repeat stored %d bytes, %v", name, len(got), err)
		}
	}
}

func TestWindow(t *testing.T) {
	segments := []Segment{}
	for _, n := range []int{1, 2, 3, 5, 6, 6, 7, 9} {
		segments = append(segments, numbered(n))
	}
	other := numbered(2)
	other.Timeline = "2"
	w := windowOf(append(segments, other))
	got := []string{}
	for _, r := range w.Ranges {
		got = append(got, fmt.Sprintf("%s: %s to %s, %d", r.Timeline, r.Start, r.End, r.Segments))
	}
	want := []string{"1: 0/1 to 0/4, 3", "1: 0/5 to 0/6, 1", "1: 0/7 to 0/8, 1", "1: 0/9 to 0/A, 1", "2: 0/2 to 0/3, 1"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("ranges (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"1/" + numbered(6).Name}, w.Conflicts); d != "" {
		t.Errorf("conflicts (-want +got):\n%s", d)
	}
}

func TestDamagedSegment(t *testing.T) {
	keys, _ := testKeys(t)
	forger, _ := testKeys(t)
	s := directory(t)
	l := Open(s, keys).Log(scope, "1")
	for n := range 2 {
		if err := l.Append(t.Context(), numbered(n), pages(1000+n)); err != nil {
			t.Fatal(err)
		}
	}
	all, err := l.Segments(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	body := []byte(storetest.Content(t, s, all[0].key))
	another := []byte(storetest.Content(t, s, all[1].key))
	bad := map[string][]byte{"cut": body[:len(body)-1], "empty": nil, "another one": another}
	for _, at := range []int{0, 100, len(body) - 1} {
		flipped := bytes.Clone(body)
		flipped[at] ^= 1
		bad[fmt.Sprint("flipped at ", at)] = flipped
	}
	// A forger knows the recipients, and signs with a key of his own.
	forged := forger
	forged.Recipients = keys.Recipients
	bad["forged"], err = Open(s, forged).Log(scope, "1").encode(numbered(0), pages(1000), strings.Repeat("0", 64))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range bad {
		replace(t, s, all[0].key, content)
		_, err := l.Read(t.Context(), all[0])
		// A changed header of age is like one for another key.
		if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrSignature) && !errors.Is(err, volume.ErrKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.Delete(t.Context(), all[0].key); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Read(t.Context(), all[0]); !errors.Is(err, ErrDamaged) {
		t.Errorf("missing: %v", err)
	}
}

// TestWindowTime: a segment in which nothing was committed doesn't take the end of a range back.
func TestWindowTime(t *testing.T) {
	idle := numbered(2)
	idle.Time = time.Time{}
	w := windowOf([]Segment{numbered(1), idle})
	if len(w.Ranges) != 1 || !w.Ranges[0].To.Equal(numbered(1).Time) {
		t.Errorf("got %+v", w.Ranges)
	}
}
