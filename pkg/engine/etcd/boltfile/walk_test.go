package boltfile

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// database writes a database and returns its path.
func database(t testing.TB, o bolt.Options, change ...func(*bolt.Tx) error) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	o.NoSync = true
	db, err := bolt.Open(path, 0o600, &o)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range change {
		if err := db.Update(c); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// fill puts n pairs into a bucket, and takes away every third of an earlier filling.
func fill(r *rand.Rand, bucket string, n, valueBytes int) func(*bolt.Tx) error {
	return func(tx *bolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists([]byte(bucket))
		if err != nil {
			return err
		}
		for i := range n {
			key := fmt.Appendf(nil, "%08d", r.IntN(10*n))
			if i%3 == 0 {
				err = b.Delete(key)
			} else {
				err = b.Put(key, bytes.Repeat(key[7:], r.IntN(valueBytes+1)))
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// content is what bbolt itself reads, the last first.
func content(t *testing.T, path string) []string {
	t.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var all []string
	err = db.View(func(tx *bolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bolt.Bucket) error {
			return b.ForEach(func(k, v []byte) error {
				all = append(all, fmt.Sprintf("%s/%s=%x", name, k, v))
				return nil
			})
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(all)
	return all
}

func walked(path string) (all []string, err error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	err = f.Walk(func(bucket string) func(key, value []byte) error {
		return func(key, value []byte) error {
			all = append(all, fmt.Sprintf("%s/%s=%x", bucket, key, value))
			return nil
		}
	})
	return all, err
}

// TestWalk: what bbolt reads, of databases that grew and shrank.
func TestWalk(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, pageSize := range []int{1024, 4096, 65536} {
		for _, unlisted := range []bool{false, true} {
			for _, n := range []int{0, 1, 20, 3000} {
				o := bolt.Options{PageSize: pageSize, NoFreelistSync: unlisted}
				path := database(t, o, fill(r, "key", n, 300), fill(r, "large", n/50, 50000), fill(r, "key", n, 300),
					fill(r, "small", min(n, 1), 5), fill(r, "key", n, 300))
				got, err := walked(path)
				if err != nil {
					t.Fatalf("pages of %d, %v, %d: %v", pageSize, unlisted, n, err)
				}
				if want := content(t, path); !slices.Equal(got, want) {
					t.Fatalf("pages of %d, %v, %d: %d pairs, want %d", pageSize, unlisted, n, len(got), len(want))
				}
			}
		}
	}
}

// TestWalkIsBounded: a large file takes no more memory than a small one. Alone,
// for what others allocate is counted too.
func TestWalkIsBounded(t *testing.T) {
	const size, most = 32 << 20, 1 << 20
	value := make([]byte, 12<<10)
	path := database(t, bolt.Options{}, func(tx *bolt.Tx) error {
		b, err := tx.CreateBucket([]byte("key"))
		for i := 0; i < size/len(value) && err == nil; i++ {
			err = b.Put(fmt.Appendf(nil, "%08d", i), value)
		}
		return err
	})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	pairs := 0
	err = f.Walk(func(string) func(_, _ []byte) error {
		return func(_, _ []byte) error { pairs++; return nil }
	})
	if err = errors.Join(err, f.Close()); err != nil || pairs != size/len(value) {
		t.Fatalf("%d pairs, %v", pairs, err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > most {
		t.Errorf("%d bytes to read a file of %d", took, size)
	}
}

func TestWalkStops(t *testing.T) {
	t.Parallel()
	path := database(t, bolt.Options{}, fill(rand.New(rand.NewPCG(1, 2)), "key", 100, 10))
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	enough := errors.New("enough")
	if err := f.Walk(func(string) func(_, _ []byte) error {
		return func(_,
			_ []byte) error {
			return enough
		}
	}); !errors.Is(err, enough) {
		t.Error(err)
	}
	if err := f.Walk(func(string) func(_, _ []byte) error { return nil }); err != nil {
		t.Error(err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) || errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
}
