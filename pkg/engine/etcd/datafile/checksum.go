package datafile

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"hash"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// sectorSize divides the size of every data file.
const sectorSize = 512

// Checksum sees the bytes of a snapshot. etcd ends the stream with the SHA-256
// of all that came before (maintenance.Snapshot in api/v3rpc); a snapshot
// without it was cut off, or copied from a data directory.
type Checksum struct {
	digest hash.Hash
	// tail holds back the last bytes, which may be the trailer.
	tail []byte
	size int64
}

// NewChecksum checks the trailer of a snapshot while it is written through.
func NewChecksum() *Checksum { return &Checksum{digest: sha256.New()} }

func (c *Checksum) Write(p []byte) (int, error) {
	c.size += int64(len(p))
	if len(p) >= sha256.Size {
		c.digest.Write(c.tail)
		cut := len(p) - sha256.Size
		c.digest.Write(p[:cut])
		c.tail = append(c.tail[:0], p[cut:]...)
		return len(p), nil
	}
	c.tail = append(c.tail, p...)
	if extra := len(c.tail) - sha256.Size; extra > 0 {
		c.digest.Write(c.tail[:extra])
		c.tail = append(c.tail[:0], c.tail[extra:]...)
	}
	return len(p), nil
}

func (c *Checksum) Close() error {
	if c.size <= sha256.Size || c.size%sectorSize != sha256.Size {
		return fmt.Errorf(
			"check %d bytes of an etcd snapshot: it does not end with a checksum, so it was cut off, or copied from a data "+
				"directory: %w",
			c.size, engine.ErrNotSnapshot)
	}
	if !bytes.Equal(c.digest.Sum(nil), c.tail) {
		return fmt.Errorf("check %d bytes of an etcd snapshot: the checksum does not match: %w", c.size,
			engine.ErrNotSnapshot)
	}
	return nil
}
