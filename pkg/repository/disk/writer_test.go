package disk

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestWriter: what was handed to the disk early is what was written, whatever the pieces.
func TestWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w, want := &Writer{File: f}, []byte{}
	for i, size := range []int{1, 3 << 20, 0, 9 << 20, 8 << 20, 17} {
		piece := bytes.Repeat([]byte{byte('a' + i)}, size)
		if n, err := w.Write(piece); n != size || err != nil {
			t.Fatalf("wrote %d of %d bytes: %v", n, size, err)
		}
		want = append(want, piece...)
		if left := w.written - w.handed; w.written != int64(len(want)) || left >= writebackEach {
			t.Errorf("%d of %d bytes were not handed over", left, len(want))
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("x")); err == nil {
		t.Error("a closed file was written")
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("got %d bytes and %v, want %d", len(got), err, len(want))
	}
}
