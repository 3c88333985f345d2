package datafile

import (
	"bytes"
	"hash/crc32"
	"slices"
	"testing"
)

// TestHistoryHash: hashed from its end it is the hash of the whole.
func TestHistoryHash(t *testing.T) {
	t.Parallel()
	pieces := [][]byte{[]byte("one"), nil, {0, 0, 0}, bytes.Repeat([]byte("long "), 5000), []byte("last")}
	h := &HistoryHash{}
	for _, p := range slices.Backward(pieces) {
		h.prepend(p[:len(p)/2], p[len(p)/2:])
	}
	whole := append([]byte("key"), bytes.Join(pieces, nil)...)
	if got, want := h.Sum(), crc32.Checksum(whole, crc32.MakeTable(crc32.Castagnoli)); got != want || h.Sum() != want {
		t.Errorf("%08x, want %08x", got, want)
	}
}
