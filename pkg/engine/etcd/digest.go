package etcd

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"math/bits"
	"strconv"
	"strings"

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
	return engine.Fingerprint{
		Proof:    engine.Proof(fmt.Sprintf("%d keys%s%s", d.keys, proofSeparator, hex.EncodeToString(sum))),
		Readings: []engine.Reading{{Name: "revision", Value: strconv.FormatInt(revision, 10)}, {Name: "keys", Value: strconv.FormatInt(d.keys, 10)}},
	}
}

// proofSeparator stands between the count of keys and their digest.
const proofSeparator = ", sha256-sum:"

// CompareProofs implements engine.Rules. Equal proofs hold the same keys with
// the same values.
func (*Engine) CompareProofs(want, got engine.Proof) engine.Match {
	whole := func(p engine.Proof) bool {
		_, sum, ok := strings.Cut(string(p), proofSeparator)
		return ok && len(sum) == hex.EncodedLen(sha256.Size)
	}
	switch {
	case !whole(want) || !whole(got):
		return engine.MatchUnknown
	case want == got:
		return engine.MatchSame
	}
	return engine.MatchDifferent
}
