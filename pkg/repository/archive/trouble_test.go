package archive

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/s3"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

// often is how many times a test makes trouble: less where DBOP_TORTURE is not all.
func often(long, short int) int {
	if os.Getenv("DBOP_TORTURE") == "all" {
		return long
	}
	return short
}

func openS3(t *testing.T, c s3.Config) *s3.Store {
	t.Helper()
	s, err := s3.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// behind is a new bucket of a real server, behind a network that can be cut.
func behind(t *testing.T) (*s3.Store, *storetest.Proxy) {
	t.Helper()
	server := storetest.StartS3(t)
	proxy := storetest.StartProxy(t, server.Address)
	c := server.Config(t, false)
	c.Endpoint = "https://" + proxy.Address
	return openS3(t, c), proxy
}

// TestCutNetwork ends all connections somewhere in a backup, and in a restore. One cut is bridged; where the network
// stays away it ends with an error, which is not about the data, and the repeat goes on.
func TestCutNetwork(t *testing.T) {
	s, proxy := behind(t)
	keys, _ := testKeys(t)
	a := Open(s, keys)
	a.mostOutage = time.Second
	body := pages(20 << 20)
	for i := range often(50, 4) {
		id, stays := fmt.Sprint("b", i), i%4 == 3
		at := rand.Int64N(int64(len(body)) / 2)
		proxy.CutAfter(at, stays)
		m, err := save(t, a, request(id, "op-"+id, "file"), body)
		if !proxy.Mend() {
			t.Fatalf("no cut after %d bytes", at)
		}
		if stays == (err == nil) {
			t.Errorf("cut after %d bytes, for good %v: %v", at, stays, err)
		}
		if err != nil {
			if _, err := load(t, a, id); !errors.Is(err, ErrNotFound) {
				t.Errorf("a backup that was cut after %d bytes: %v", at, err)
			}
			if m, err = save(t, a, request(id, "op-"+id, "file"), body); err != nil {
				t.Fatalf("the repeat: %v", err)
			}
		}
		if err := a.Verify(t.Context(), m, LevelIntact); err != nil {
			t.Fatalf("cut after %d bytes: %v", at, err)
		}
		proxy.CutAfter(at, stays && often(50, 4) == 50)
		got, err := load(t, a, id)
		if err == nil && !bytes.Equal(got, body) || errors.Is(err, ErrDamaged) {
			t.Errorf("a restore that was cut after %d bytes: %d bytes of %d, %v", at, len(got), len(body), err)
		}
		proxy.Mend()
	}
}

// TestNetworkAway: where the network stays away for longer than a client of the store tries, and then comes back, a
// backup and a restore that are under way go on.
func TestNetworkAway(t *testing.T) {
	s, proxy := behind(t)
	keys, _ := testKeys(t)
	a := Open(s, keys)
	body := pages(20 << 20)
	away := func(what func() error) time.Duration {
		t.Helper()
		began := time.Now()
		proxy.CutAfter(5<<20, true)
		mended := time.AfterFunc(12*time.Second, func() { proxy.Mend() })
		defer mended.Stop()
		if err := what(); err != nil {
			t.Error(err)
		}
		return time.Since(began)
	}
	if took := away(func() error {
		_, err := save(t, a, request("b", "op", ""), body)
		return err
	}); took < 12*time.Second {
		t.Errorf("the backup ended after %s, before the network was back", took)
	}
	if took := away(func() error {
		got, err := load(t, a, "b")
		if err == nil && !bytes.Equal(got, body) {
			err = fmt.Errorf("read %d bytes of %d", len(got), len(body))
		}
		return err
	}); took < 12*time.Second {
		t.Errorf("the restore ended after %s, before the network was back", took)
	}
}

// TestSlowNetwork: a backup that becomes slow in the middle of a volume is whole.
func TestSlowNetwork(t *testing.T) {
	s, proxy := behind(t)
	keys, _ := testKeys(t)
	f := &storetest.Fault{Store: s, Before: func(c storetest.Call) error {
		if c.Name == "part" || c.Name == "put" {
			proxy.Slow(4 << 20)
		}
		return nil
	}}
	body := pages(8 << 20)
	m, err := save(t, Open(f, keys), request("b", "op-1", ""), body)
	proxy.Mend()
	if err == nil {
		err = Open(s, keys).Verify(t.Context(), m, LevelIntact)
	}
	if err != nil {
		t.Error(err)
	}
}

// TestRevoked takes the credentials away in the middle of a backup: it ends, says so, and goes on with them.
func TestRevoked(t *testing.T) {
	server := storetest.StartS3(t)
	s := openS3(t, server.Config(t, false))
	keys, _ := testKeys(t)
	var puts atomic.Int32
	f := &storetest.Fault{Store: s, Before: func(c storetest.Call) error {
		if (c.Name == "put" || c.Name == "commit") && puts.Add(1) == 6 {
			server.Revoke(t)
		}
		return nil
	}}
	body := pages(9 << 20)
	if _, err := save(t, Open(f, keys), request("b", "op-1", "file"), body); !errors.Is(err, store.ErrDenied) {
		t.Errorf("revoked: %v", err)
	}
	server.Restore(t)
	a := Open(s, keys)
	if _, err := load(t, a, "b"); !errors.Is(err, ErrNotFound) {
		t.Errorf("half a backup: %v", err)
	}
	before := len(storetest.Keys(t, s, kindData+"/"))
	if _, err := save(t, a, request("b", "op-1", "file"), body); err != nil || before == 0 {
		t.Fatalf("the repeat, behind %d volumes: %v", before, err)
	}
	if got, err := load(t, a, "b"); err != nil || !bytes.Equal(got, body) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// TestTwoAtOnce writes two backups of one cluster at the same time, and one operation from two places.
func TestTwoAtOnce(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		keys, _ := testKeys(t)
		a := Open(s, keys)
		bodies := [][]byte{pages(3 << 20), pages(5 << 20)}
		both := func(r func(i int) Request, body func(i int) []byte) (failed [2]error) {
			var group sync.WaitGroup
			for i := range failed {
				group.Go(func() { _, failed[i] = save(t, a, r(i), body(i)) })
			}
			group.Wait()
			return failed
		}
		failed := both(func(i int) Request { return request(fmt.Sprint("b", i), fmt.Sprint("op-", i), "") },
			func(i int) []byte { return bodies[i] })
		for i, body := range bodies {
			if got, err := load(t, a, fmt.Sprint("b", i)); err != nil || failed[i] != nil || !bytes.Equal(got, body) {
				t.Errorf("backup %d: %d bytes, %v, %v", i, len(got), failed[i], err)
			}
		}
		// A stream that can't be continued: each run has an attempt of its own, and the first one counts.
		both(func(int) Request { return request("same", "op-same", "") }, func(int) []byte { return bodies[0] })
		if _, err := save(t, a, request("same", "op-same", ""), bodies[0]); err != nil {
			t.Error(err)
		}
		if got, err := load(t, a, "same"); err != nil || !bytes.Equal(got, bodies[0]) {
			t.Errorf("one operation twice: %d bytes, %v", len(got), err)
		}
		// A file that reads the same: the runs meet in one attempt.
		for i := range often(50, 5) {
			r := request(fmt.Sprint("met", i), fmt.Sprint("op-met", i), "file")
			failed := both(func(int) Request { return r }, func(int) []byte { return bodies[0] })
			if got, err := load(t, a, r.ID); err == nil && !bytes.Equal(got, bodies[0]) || errors.Is(err, ErrDamaged) {
				t.Errorf("after %v: %d bytes, %v", failed, len(got), err)
			}
			if _, err := save(t, a, r, bodies[0]); err != nil {
				t.Errorf("the repeat after %v: %v", failed, err)
			}
			if got, err := load(t, a, r.ID); err != nil || !bytes.Equal(got, bodies[0]) {
				t.Errorf("the repeat after %v: %d bytes, %v", failed, len(got), err)
			}
		}
	})
}

// TestCrowd lists and prunes beside ten thousand objects of somebody else: what is not below our names costs nothing,
// and what is costs its pages.
func TestCrowd(t *testing.T) {
	server := storetest.StartS3(t)
	c := server.Config(t, false)
	s := openS3(t, c)
	keys, _ := testKeys(t)
	mustSave(t, Open(s, keys), "b", pages(100))
	crowd := often(10_000, 2_000)
	for _, row := range []struct {
		at   string
		most int
	}{{"photos/%05d.jpg", 3}, {kindManifest + "/album/summer/%05d.jpg", 3 + crowd/1000}} {
		for n := range crowd {
			server.Plant(t, c.Bucket, c.Prefix+"/"+fmt.Sprintf(row.at, n))
		}
		f := &storetest.Fault{Store: s}
		list, err := Open(f, keys).List(t.Context(), Scope{})
		if err != nil || len(list.Entries) != 1 || f.Calls() > row.most {
			t.Errorf("beside %s: %d requests, at most %d are due; %+v, %v", row.at, f.Calls(), row.most, list, err)
		}
	}
	f := &storetest.Fault{Store: s}
	a := Open(f, keys)
	if list, err := a.List(t.Context(), scope); err != nil || len(list.Entries) != 1 || f.Calls() > 3 {
		t.Errorf("of one cluster: %d requests, %v", f.Calls(), err)
	}
	if r := prune(t, a, Retention{Last: 1}); len(r.Deleted) > 0 || r.Collected > 0 {
		t.Errorf("%+v", r)
	}
}

// TestOneOperationTwice: a second run of an operation, such as a pod that takes the place of one on a node that is out
// of reach, replaces a volume that the first has stored and not marked. Neither may promise bytes of the other.
func TestOneOperationTwice(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		keys, _ := testKeys(t)
		body := pages(3 << 20)
		r := request("b", "op-1", "file")
		for killed := range 3 {
			for _, key := range storetest.Keys(t, s, "") {
				if err := s.Delete(t.Context(), key); err != nil {
					t.Fatal(err)
				}
			}
			var once sync.Once
			first := &storetest.Fault{Store: s, Before: func(c storetest.Call) error {
				if isMark(c) {
					once.Do(func() {
						marks := 0
						second := &storetest.Fault{Store: s, Before: func(c storetest.Call) error {
							if isMark(c) {
								if marks++; marks > killed {
									return storetest.ErrFault
								}
							}
							return nil
						}}
						_, _ = save(t, Open(second, keys), r, body)
					})
				}
				return nil
			}}
			_, err := save(t, Open(first, keys), r, body)
			a := Open(s, keys)
			got, loaded := load(t, a, "b")
			if loaded == nil && !bytes.Equal(got, body) || loaded != nil && !errors.Is(loaded, ErrNotFound) {
				t.Errorf("the second run ends at mark %d: the first: %v; its backup: %v", killed, err, loaded)
			}
			if _, err := save(t, a, r, body); err != nil {
				t.Errorf("the second run ends at mark %d: the repeat: %v", killed, err)
			}
			if got, err := load(t, a, "b"); err != nil || !bytes.Equal(got, body) {
				t.Errorf("the second run ends at mark %d: repeated: %d bytes, %v", killed, len(got), err)
			}
		}
	})
}

// isMark reports whether a request says that a volume is stored.
func isMark(c storetest.Call) bool {
	return c.Name == "put" && strings.HasPrefix(c.Key, kindAttempt) && !strings.HasSuffix(c.Key, "/started.json")
}
