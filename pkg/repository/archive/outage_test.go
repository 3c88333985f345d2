package archive

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

// outage is a store that does not answer for a while, from one of the calls of a name on.
type outage struct {
	name  string
	nth   int
	lasts time.Duration
	// says is the error meanwhile; store.ErrUnreachable by default. lost has the requests arrive, and loses the answers.
	says error
	lost bool

	// done are the calls that succeeded, by name.
	done map[string]int
}

func (o *outage) of(s store.Store) *storetest.Fault {
	o.done = map[string]int{}
	var mu sync.Mutex
	var seen int
	var until time.Time
	ends := func(c storetest.Call) error {
		mu.Lock()
		defer mu.Unlock()
		if c.Name == o.name && until.IsZero() {
			if seen++; seen == o.nth {
				until = time.Now().Add(o.lasts)
			}
		}
		if !time.Now().Before(until) {
			return nil
		}
		if o.says != nil {
			return o.says
		}
		return fmt.Errorf("%s of %s: %w", c.Name, c.Key, store.ErrUnreachable)
	}
	counts := func(c storetest.Call) error {
		mu.Lock()
		defer mu.Unlock()
		o.done[c.Name]++
		return nil
	}
	if o.lost {
		return &storetest.Fault{Store: s, After: ends}
	}
	return &storetest.Fault{Store: s, Before: ends, After: counts}
}

// TestOutage: a backup goes on where it was interrupted, once the store answers again, and sends no part twice.
func TestOutage(t *testing.T) {
	t.Parallel()
	body := pages(40 << 20)
	for name, row := range map[string]struct {
		outage

		fails error
		// least and most bound how long it takes.
		least, most time.Duration
	}{
		"a minute, in a part": {outage: outage{name: "part", nth: 2, lasts: time.Minute},
			least: time.Minute, most: 90 * time.Second},
		"five minutes, in a part": {outage: outage{name: "part", nth: 3, lasts: 5 * time.Minute}, most: 6 * time.Minute},
		"a while, at the begin": {outage: outage{name: "upload", nth: 1, lasts: 14 * time.Minute},
			most: 15 * time.Minute},
		"a while, at the end": {outage: outage{name: "commit", nth: 1, lasts: 5 * time.Minute},
			most: 6 * time.Minute},
		"a while, in the manifest": {outage: outage{name: "put", nth: 2, lasts: 5 * time.Minute}, most: 6 * time.Minute},
		"twenty minutes": {outage: outage{name: "part", nth: 2, lasts: 20 * time.Minute}, fails: store.ErrUnreachable,
			least: store.MostOutage, most: store.MostOutage},
		"access denied": {outage: outage{name: "part", nth: 2, lasts: time.Hour, says: store.ErrDenied},
			fails: store.ErrDenied, most: time.Second},
		"full": {outage: outage{name: "part", nth: 2, lasts: time.Hour, says: store.ErrFull},
			fails: store.ErrFull, most: time.Second},
		"answers to parts are lost": {outage: outage{name: "part", nth: 2, lasts: 5 * time.Minute, lost: true},
			most: 6 * time.Minute},
		"the answer to the end is lost": {outage: outage{name: "commit", nth: 1, lasts: time.Second, lost: true},
			most: time.Minute},
		"the one to the manifest is too": {outage: outage{name: "put", nth: 2, lasts: time.Second, lost: true},
			most: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				keys, _ := testKeys(t)
				bottom := directory(t)
				a := Open(row.of(bottom), keys)
				var mu sync.Mutex
				var told []store.Outage
				ctx := store.OnOutage(t.Context(), func(o store.Outage) {
					mu.Lock()
					defer mu.Unlock()
					told = append(told, o)
				})
				began := time.Now()
				w, _, err := a.Begin(ctx, request("b", "op", ""))
				if err != nil {
					t.Fatal(err)
				}
				err = w.Stream(ctx, "snapshot.db", bytes.NewReader(body))
				m := &Manifest{}
				if err == nil {
					m, err = w.Commit(ctx, Manifest{Engine: "etcd", Version: "3.6.1"})
				}
				if !errors.Is(err, row.fails) {
					t.Fatalf("it ended with %v, want %v", err, row.fails)
				}
				if took := time.Since(began); took < row.least || took > row.most {
					t.Errorf("it took %s, want %s to %s", took, row.least, row.most)
				}
				if waited := row.says == nil; waited != (len(told) > 0) {
					t.Errorf("of the outage was told %d times", len(told))
				}
				if row.fails != nil {
					return
				}
				if last := told[len(told)-1]; last.Err != nil {
					t.Errorf("last was told: %s", last)
				}
				if got, err := load(t, Open(bottom, keys), "b"); err != nil || !bytes.Equal(got, body) {
					t.Errorf("read %d bytes of %d, %v", len(got), len(body), err)
				}
				want := int((m.Streams[0].Volumes[0].Bytes + store.PartSize - 1) / store.PartSize)
				if parts := row.done["part"]; !row.lost && parts != want {
					t.Errorf("%d parts were sent, want %d", parts, want)
				}
			})
		})
	}
}

// TestReadOutage: a restore goes on at the byte where it was interrupted.
func TestReadOutage(t *testing.T) {
	t.Parallel()
	body := pages(40 << 20)
	for name, row := range map[string]struct {
		outage

		fails error
		most  time.Duration
	}{
		"five minutes": {outage: outage{name: "get", nth: 4, lasts: 5 * time.Minute}, most: 6 * time.Minute},
		"twenty minutes": {outage: outage{name: "get", nth: 4, lasts: 20 * time.Minute},
			fails: store.ErrUnreachable, most: store.MostOutage},
		"access denied": {outage: outage{name: "get", nth: 4, lasts: time.Hour, says: store.ErrDenied},
			fails: store.ErrDenied,
			most:  time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				keys, _ := testKeys(t)
				bottom := directory(t)
				mustSave(t, Open(bottom, keys), "b", body)
				began := time.Now()
				got, err := load(t, Open(row.of(bottom), keys), "b")
				if !errors.Is(err, row.fails) || errors.Is(err, ErrDamaged) || err == nil && !bytes.Equal(got, body) {
					t.Errorf("read %d bytes of %d, %v", len(got), len(body), err)
				}
				if took := time.Since(began); took > row.most {
					t.Errorf("it took %s, want at most %s", took, row.most)
				}
			})
		})
	}
}
