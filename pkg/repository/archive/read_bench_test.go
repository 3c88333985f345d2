package archive

import (
	"bytes"
	"io"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

// BenchmarkRead reads an encrypted backup out of a directory: fetched, compared, decrypted and decompressed.
func BenchmarkRead(b *testing.B) {
	// Half of it repeats.
	body := bytes.Repeat(append(storetest.Noise(2<<20), bytes.Repeat([]byte("a row of a table"), 2<<20/16)...), 128)
	keys, _ := testKeys(b)
	a := Open(directory(b), keys)
	w, _, err := a.Begin(b.Context(), request("b", "op", "file"))
	if err == nil {
		err = w.Stream(b.Context(), "snapshot.db", bytes.NewReader(body))
	}
	var m *Manifest
	if err == nil {
		m, err = w.Commit(b.Context(), Manifest{Engine: "etcd", Version: "3.6.1"})
	}
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		r, err := a.Read(b.Context(), m, "snapshot.db")
		if err != nil {
			b.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, r); err != nil || n != int64(len(body)) {
			b.Fatalf("read %d bytes: %v", n, err)
		}
	}
}
