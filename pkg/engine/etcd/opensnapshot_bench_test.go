package etcd

import (
	"crypto/rand"
	"fmt"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"
)

// BenchmarkOpenSnapshot reads 256 MiB of small and of large values.
func BenchmarkOpenSnapshot(b *testing.B) {
	const total = 256 << 20
	for _, size := range []int{256, 12 << 10} {
		b.Run(fmt.Sprintf("values of %d bytes", size), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "db")
			writeKeys(b, path, total/size, size)
			b.SetBytes(total)
			b.ReportAllocs()
			for b.Loop() {
				facts, err := New().OpenSnapshot(path, true)
				if err != nil {
					b.Fatal(err)
				}
				if counted(facts.Fingerprint, "keys") != int64(total/size) {
					b.Fatalf("%d keys", counted(facts.Fingerprint, "keys"))
				}
			}
		})
	}
}

// writeKeys writes a data file with so many keys.
func writeKeys(b *testing.B, path string, keys, size int) {
	b.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{NoSync: true})
	if err != nil {
		b.Fatal(err)
	}
	value := make([]byte, size)
	for n := 0; n < keys; {
		err := db.Update(func(tx *bolt.Tx) error {
			for _, name := range []string{"key", "meta"} {
				if _, err := tx.CreateBucketIfNotExists([]byte(name)); err != nil {
					return err
				}
			}
			bucket := tx.Bucket([]byte("key"))
			bucket.FillPercent = 0.9
			for end := min(keys, n+20000); n < end; n++ {
				if _, err := rand.Read(value); err != nil {
					return err
				}
				v,
					err := proto.Marshal(&mvccpb.KeyValue{Key: fmt.Appendf(nil, "/registry/pods/namespace/%09d", n),
					Value: value})
				if err != nil {
					return err
				}
				if err := bucket.Put(revisionKey(int64(n+2), 0, false), v); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
}
