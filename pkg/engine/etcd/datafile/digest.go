package datafile

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"math/bits"
	"strconv"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// Digest is a hash over pairs of key and value that does not depend on their
// order: the sum of the SHA-256 of each pair, modulo 2^256. A file is read by
// its history and a server by its keys, and neither has to be sorted. Keys
// with a lease are left out: they go when nobody renews them, so a restored
// copy would differ from its backup by the passing of time alone.
type Digest struct {
	pair hash.Hash
	sum  [4]uint64
	Keys int64
}

// NewDigest sums up keys and values in any order.
func NewDigest() *Digest { return &Digest{pair: sha256.New()} }

// Add takes one key with its value.
func (d *Digest) Add(key, value []byte) {
	d.Keys++
	d.pair.Reset()
	var length [8]byte
	// A hash never fails to write.
	d.pair.Write(binary.BigEndian.AppendUint64(length[:0], uint64(len(key))))
	d.pair.Write(key)
	d.pair.Write(value)
	var sum [sha256.Size]byte
	d.pair.Sum(sum[:0])
	var carry uint64
	for i := range d.sum {
		d.sum[i], carry = bits.Add64(d.sum[i], binary.LittleEndian.Uint64(sum[8*i:]), carry)
	}
}

// Fingerprint is the proof of what was added, at a revision.
func (d *Digest) Fingerprint(revision int64) engine.Fingerprint {
	var sum []byte
	for _, word := range d.sum {
		sum = binary.LittleEndian.AppendUint64(sum, word)
	}
	return engine.Fingerprint{
		Proof: engine.Proof(fmt.Sprintf("%d keys%s%s", d.Keys, ProofSeparator, hex.EncodeToString(sum))),
		Readings: []engine.Reading{{Name: "revision", Value: strconv.FormatInt(revision, 10)},
			{Name: "keys", Value: strconv.FormatInt(d.Keys, 10)}},
	}
}

// ProofSeparator is between the count of keys and their digest.
const ProofSeparator = ", sha256-sum:"
