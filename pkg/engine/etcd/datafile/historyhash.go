package datafile

import "hash/crc32"

// HistoryHash is what etcd answers to HashKV at the last revision, computed of
// changes that come the last first (kvHasher in server/storage/mvcc/hash.go): a
// CRC over the bucket's name and every change that a compaction leaves. CRCs
// of two pieces add up to that of the whole, so the order does not matter.
type HistoryHash struct {
	crc uint32
	// shift is x^(8n) for the n bytes hashed so far, modulo the polynomial.
	shift uint32
	// Current counts the keys that exist at the last revision.
	Current int
}

// one is the polynomial 1: bits are reflected.
const one = 1 << 31

// prepend hashes pieces that come before all that were hashed.
func (h *HistoryHash) prepend(pieces ...[]byte) {
	if h.shift == 0 {
		h.shift = one
	}
	table := crc32.MakeTable(crc32.Castagnoli)
	var crc uint32
	n := 0
	for _, p := range pieces {
		crc = crc32.Update(crc, table, p)
		n += len(p)
	}
	h.crc ^= multiply(crc, h.shift)
	h.shift = multiply(h.shift, power(n))
}

// change hashes a change unless a compaction drops it: it keeps, of what is not
// newer than itself, the last change of each key that lives.
func (h *HistoryHash) change(key, value []byte, newer, lives bool) {
	if lives {
		h.Current++
	}
	if newer || lives {
		h.prepend(key, value)
	}
}

// Sum is what etcd answers to HashKV at the same revision.
func (h *HistoryHash) Sum() uint32 {
	all := *h
	all.prepend([]byte("key"))
	return all.crc
}

// multiply multiplies two polynomials over the bits modulo Castagnoli's.
func multiply(a, b uint32) uint32 {
	var product uint32
	for ; a != 0; a <<= 1 {
		if a&one != 0 {
			product ^= b
		}
		carry := b & 1
		b >>= 1
		if carry != 0 {
			b ^= crc32.Castagnoli
		}
	}
	return product
}

// power is x^(8n).
func power(n int) uint32 {
	result, square := uint32(one), uint32(one>>8)
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			result = multiply(result, square)
		}
		square = multiply(square, square)
	}
	return result
}
