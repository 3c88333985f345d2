package archive

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

// BenchmarkWrite writes an encrypted backup to a directory: compressed, hashed, cut into parts and made durable.
func BenchmarkWrite(b *testing.B) {
	// Half of it repeats.
	body := bytes.Repeat(append(storetest.Noise(2<<20), bytes.Repeat([]byte("a row of a table"), 2<<20/16)...), 64)
	keys, _ := testKeys(b)
	plain := keys
	plain.Recipients = nil
	for name, k := range map[string]Keys{"encrypted": keys, "plain": plain} {
		b.Run(name, func(b *testing.B) {
			a := Open(directory(b), k)
			b.SetBytes(int64(len(body)))
			for i := 0; b.Loop(); i++ {
				w, _, err := a.Begin(b.Context(), request(fmt.Sprint("b", i), "op", "file"))
				if err == nil {
					err = w.Stream(b.Context(), "snapshot.db", bytes.NewReader(body))
				}
				if err == nil {
					_, err = w.Commit(b.Context(), Manifest{Engine: "etcd", Version: "3.6.1"})
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
