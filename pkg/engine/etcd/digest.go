package etcd

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// digest is the hash over keys and values, added in the order of the keys.
// Keys with a lease are left out: they go when nobody renews them, so a
// restored copy would differ from its backup by the passing of time alone.
type digest struct {
	sum  hash.Hash
	keys int64
}

func newDigest() *digest { return &digest{sum: sha256.New()} }

func (d *digest) add(key, value []byte) {
	d.keys++
	for _, b := range [][]byte{key, value} {
		// A hash never fails to write.
		d.sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(b))))
		d.sum.Write(b)
	}
}

func (d *digest) fingerprint(revision int64) engine.Fingerprint {
	return engine.Fingerprint{Revision: revision, Keys: d.keys, Hash: "sha256:" + hex.EncodeToString(d.sum.Sum(nil))}
}
