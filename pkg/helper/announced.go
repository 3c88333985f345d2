package helper

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// announced compares what comes in with the SHA-256 that was announced; with nothing where the source compares by
// itself, since a hash takes as much of a processor as all else.
type announced struct {
	want string
	sum  hash.Hash
}

func sumFor(want string) announced {
	if want == "" {
		return announced{}
	}
	return announced{want, sha256.New()}
}

// reader passes on what comes in.
func (a announced) reader(in io.Reader) io.Reader {
	if a.sum == nil {
		return in
	}
	return io.TeeReader(in, a.sum)
}

// arrived is called after the end, with what came in and what was announced.
func (a announced) arrived(bytes, size int64) error {
	if bytes != size {
		return fmt.Errorf("%w: %d bytes were announced and %d arrived", repository.ErrDamaged, size, bytes)
	}
	if a.sum == nil {
		return nil
	}
	if got := hex.EncodeToString(a.sum.Sum(nil)); got != a.want {
		return fmt.Errorf("%w: SHA-256 %s was announced and %s arrived", repository.ErrDamaged, a.want, got)
	}
	return nil
}
