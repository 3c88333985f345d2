package store_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

// breaking is a store whose streams break after some bytes, as often as it says; 0 bytes for a connection that brings
// none.
type breaking struct {
	store.Store

	after, times int
	gets         []int64
}

func (b *breaking) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	b.gets = append(b.gets, offset)
	r, err := b.Store.Get(ctx, key, offset, length)
	if err != nil || b.times == 0 {
		return r, err
	}
	b.times--
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(io.LimitReader(r, int64(b.after)), broken{}), r}, nil
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("connection reset by peer") }

// TestPatientRead: a stream that breaks goes on at that byte, and one that always breaks comes to an end.
func TestPatientRead(t *testing.T) {
	t.Parallel()
	const content = "0123456789abcdef"
	for name, row := range map[string]struct {
		after, times   int
		offset, length int64
		gives          bool
	}{
		"never":             {offset: 2, length: 9},
		"twice":             {after: 3, times: 2, offset: 2, length: 9},
		"twice, to the end": {after: 3, times: 2, offset: 2, length: -1},
		"behind the last":   {after: 9, times: 1, offset: 2, length: 9},
		"without a byte":    {times: 10, offset: 2, length: -1},
		"for ever":          {times: 1 << 20, length: -1, gives: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d, err := store.NewDirectory(t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				storetest.Put(t, d, "key", content)
				began := time.Now()
				r, err := store.Patient(&breaking{Store: d, after: row.after, times: row.times}, store.MostOutage).
					Get(t.Context(), "key", row.offset, row.length)
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(r)
				want := content[row.offset:]
				if row.length > 0 {
					want = want[:row.length]
				}
				switch took := time.Since(began); {
				case row.gives && (!errors.Is(err, store.ErrUnreachable) || took < store.MostOutage || took > 2*store.MostOutage):
					t.Errorf("it ended after %s with %v", took, err)
				case !row.gives && (err != nil || string(got) != want):
					t.Errorf("read %q, %v, want %q", got, err, want)
				}
			})
		})
	}
}

// TestPatientCommit: an object of the same length that somebody else wrote is not this one.
func TestPatientCommit(t *testing.T) {
	t.Parallel()
	d, err := store.NewDirectory(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	storetest.Put(t, d, "other", "others")
	storetest.Put(t, d, "same", "onesix")
	p := store.Patient(d, time.Minute)
	for key, want := range map[string]error{"other": store.ErrExists, "same": nil, "free": nil} {
		u, err := p.Upload(t.Context(), key, store.Options{})
		if err == nil {
			err = u.Part(t.Context(), 0, []byte("onesix"))
		}
		if err == nil {
			err = u.Commit(t.Context(), 1)
		}
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", key, err, want)
		}
	}
}

// TestMoving: a connection may be in use for as long as it moves, one way or the other.
func TestMoving(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		dial := store.Moving(func(context.Context, string, string) (net.Conn, error) { return near, nil })
		c, err := dial(t.Context(), "tcp", "store:443")
		if err != nil {
			t.Fatal(err)
		}
		read := make(chan error, 1)
		began := time.Now()
		go func() {
			_, err := c.Read(make([]byte, 1))
			read <- err
		}()
		go func() { _, _ = io.Copy(io.Discard, far) }()
		for range 10 {
			time.Sleep(time.Minute)
			if _, err := io.Copy(c, strings.NewReader("x")); err != nil {
				t.Fatal(err)
			}
		}
		if err := <-read; !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != 12*time.Minute {
			t.Errorf("the answer was waited for %s: %v", time.Since(began), err)
		}
		_ = errors.Join(near.Close(), far.Close())
	})
}
