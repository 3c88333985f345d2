package helpercmd

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"time"
)

// keyEvery is how often a mounted key is read again: the kubelet brings another one within a minute or two.
const keyEvery = 10 * time.Second

// whileKey is a context that ends once the file holds another key than the one that is in use. A file that can't be
// read changes nothing.
func whileKey(ctx context.Context, file string, inUse []byte) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	go func() {
		for ctx.Err() == nil {
			wait(ctx, keyEvery)
			if have, err := os.ReadFile(filepath.Clean(file)); err == nil && len(have) > 0 && !bytes.Equal(have, inUse) {
				stop()
			}
		}
	}()
	return ctx, stop
}
