// Package storetest holds what every store must pass, and a store that fails on demand.
package storetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// Run holds a store to the contract of package store. open returns an empty one for each test; t ends it.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	for name, test := range map[string]func(t *testing.T, s store.Store){
		"put if absent":       putIfAbsent,
		"one of many wins":    oneOfManyWins,
		"ranges":              ranges,
		"missing":             missing,
		"keys":                keys,
		"list":                list,
		"list pages":          listPages,
		"delete":              deleteTwice,
		"upload":              upload,
		"upload of one part":  uploadOnePart,
		"upload is invisible": uploadInvisible,
		"upload exists":       uploadExists,
		"sweep":               sweep,
		"clock":               clock,
		"canceled":            canceled,
		"put the same":        putSame,
		"limit":               limit,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

// Put stores an object or ends the test.
func Put(t *testing.T, s store.Store, key, body string) {
	t.Helper()
	if err := s.Put(t.Context(), key, []byte(body), store.Options{}); err != nil {
		t.Fatal(err)
	}
}

// Content reads an object or ends the test.
func Content(t *testing.T, s store.Store, key string) string {
	t.Helper()
	b, err := store.ReadAll(t.Context(), s, key, store.MaxPut)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Keys lists all keys under a prefix.
func Keys(t *testing.T, s store.Store, prefix string) []string {
	t.Helper()
	out := []string{}
	for o, err := range store.All(t.Context(), s, prefix) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, o.Key)
	}
	return out
}

func wantError(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %q", what, err, want)
	}
}

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

func list(t *testing.T, s store.Store) {
	// The order of keys is not that of paths: "-" is before "/", and "0" is behind it.
	want := []string{"a-b/1", "a/1", "a/2/3", "a/2-x", "a0", "b/1", "b/A_n-1.e-x!2c.json"}
	for i := range want {
		Put(t, s, want[len(want)-1-i], "x")
	}
	sorted := []string{"a-b/1", "a/1", "a/2-x", "a/2/3", "a0", "b/1", "b/A_n-1.e-x!2c.json"}
	if d := cmp.Diff(sorted, Keys(t, s, "")); d != "" {
		t.Errorf("all (-want +got):\n%s", d)
	}
	for prefix, want := range map[string][]string{
		"a/":   {"a/1", "a/2-x", "a/2/3"},
		"a":    {"a-b/1", "a/1", "a/2-x", "a/2/3", "a0"},
		"a/2":  {"a/2-x", "a/2/3"},
		"a/2/": {"a/2/3"},
		"b/1":  {"b/1"},
		"c":    {},
	} {
		if d := cmp.Diff(want, Keys(t, s, prefix)); d != "" {
			t.Errorf("under %q (-want +got):\n%s", prefix, d)
		}
	}
	before := time.Now().Add(-time.Hour)
	page, err := s.List(t.Context(), "a0", "")
	if err != nil || len(page.Objects) != 1 || page.Objects[0].Size != 1 || page.Objects[0].Modified.Before(before) {
		t.Errorf("%+v, %v", page, err)
	}
	if o, err := s.Head(t.Context(), "a0"); err != nil || o.Size != 1 || o.Key != "a0" || o.Modified.Before(before) {
		t.Errorf("%+v, %v", o, err)
	}
}

func listPages(t *testing.T, s store.Store) {
	var group sync.WaitGroup
	want := make([]string, 1100)
	for worker := range 8 {
		group.Go(func() {
			for i := worker; i < len(want); i += 8 {
				want[i] = fmt.Sprintf("p/%d/%04d", i/400, i)
				if err := s.Put(t.Context(), want[i], []byte("x"), store.Options{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if d := cmp.Diff(want, Keys(t, s, "p/")); d != "" {
		t.Errorf("listed (-want +got):\n%s", d)
	}
	first, err := s.List(t.Context(), "p/", "")
	if err != nil || len(first.Objects) != 1000 || first.Next == "" {
		t.Errorf("the first page has %d objects, %v", len(first.Objects), err)
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

// Noise makes bytes that don't compress.
func Noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return b
}

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
