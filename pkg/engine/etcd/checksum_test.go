package etcd

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// signed appends the trailer that a server appends.
func signed(data []byte) []byte {
	sum := sha256.Sum256(data)
	return append(bytes.Clone(data), sum[:]...)
}

func TestCheckStream(t *testing.T) {
	t.Parallel()
	whole := signed(bytes.Repeat([]byte("etcd"), 1024))
	flipped := bytes.Clone(whole)
	flipped[100] ^= 1
	for _, c := range []struct {
		name string
		data []byte
		good bool
	}{
		{"whole", whole, true},
		{"empty", nil, false},
		{"only a trailer", signed(nil), false},
		{"cut off", whole[:len(whole)-1], false},
		{"cut off by a sector", whole[:len(whole)-512], false},
		{"without trailer", whole[:len(whole)-sha256.Size], false},
		{"with a tail", append(bytes.Clone(whole), 0), false},
		{"flipped", flipped, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, chunk := range []int{1, 7, 31, 32, 33, 4096, 1 << 20} {
				err := check(t, c.data, chunk)
				if c.good != (err == nil) || (err != nil && !errors.Is(err, engine.ErrNotSnapshot)) {
					t.Errorf("in chunks of %d: %v", chunk, err)
				}
			}
		})
	}
}

func check(t *testing.T, data []byte, chunk int) error {
	t.Helper()
	w := New().CheckStream()
	for len(data) > 0 {
		n, err := w.Write(data[:min(chunk, len(data))])
		if err != nil {
			t.Fatal(err)
		}
		data = data[n:]
	}
	return w.Close()
}

func FuzzCheckStream(f *testing.F) {
	f.Add(signed(make([]byte, 512)), 5)
	f.Add([]byte("short"), 1)
	f.Fuzz(func(t *testing.T, data []byte, chunk int) {
		if chunk < 1 {
			return
		}
		body := len(data) - sha256.Size
		want := body > 0 && body%512 == 0 && bytes.Equal(data, signed(data[:max(0, body)]))
		if got := check(t, data, chunk) == nil; got != want {
			t.Errorf("good: %v, want %v", got, want)
		}
	})
}
