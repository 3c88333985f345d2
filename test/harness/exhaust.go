package harness

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

const (
	// pieceBytes is the size of what Exhaust writes at a time.
	pieceBytes = 256 << 10
	// mostPieces is when Exhaust gives up: test quotas are smaller.
	mostPieces = 1000
)

// Exhaust writes until the database refuses it for want of space, to the keys
// that are named by the number of the write, and returns how many it took.
func Exhaust(ctx context.Context, client *Etcd, key func(n int) string) (int, error) {
	value := strings.Repeat("x", pieceBytes)
	for n := range mostPieces {
		full := false
		err := repeated(ctx, "a piece to be written, or refused", func(ctx context.Context) error {
			_, err := client.KV.Put(ctx, key(n), value)
			full = errors.Is(err, rpctypes.ErrNoSpace)
			if full {
				return nil
			}
			return err
		})
		if err != nil || full {
			return n, err
		}
	}
	return mostPieces, fmt.Errorf("%d MiB do not fill it", mostPieces*pieceBytes>>20)
}
