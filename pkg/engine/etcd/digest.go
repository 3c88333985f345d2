package etcd

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math/bits"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// digest is a hash over pairs of key and value that does not depend on their
// order: the sum of the SHA-256 of each pair, modulo 2^256. A file is read by
// its history and a server by its keys, and neither has to be sorted. Keys
// with a lease are left out: they go when nobody renews them, so a restored
// copy would differ from its backup by the passing of time alone.
type digest struct {
	pair hash.Hash
	sum  [4]uint64
	keys int64
}

func newDigest() *digest { return &digest{pair: sha256.New()} }

func (d *digest) add(key, value []byte) {
	d.keys++
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

func (d *digest) fingerprint(revision int64) engine.Fingerprint {
	var sum []byte
	for _, word := range d.sum {
		sum = binary.LittleEndian.AppendUint64(sum, word)
	}
	return engine.Fingerprint{Revision: revision, Keys: d.keys, Hash: "sha256-sum:" + hex.EncodeToString(sum)}
}
