package volume

import (
	"errors"
	"fmt"
	"io"
	"runtime"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"
)

// ErrDamaged: the bytes are not what a Writer stored, or not all of it.
var ErrDamaged = errors.New("stored data is damaged")

// ErrKey: none of the identities opens it.
var ErrKey = errors.New("no key opens this backup")

// decoders bounds the memory of one Reader.
const decoders = 4

// NewReader reads what Compress made and, for identities, age encrypted. The end of the stream comes only after
// exactly plain bytes, each frame compared with its own checksum before it is passed on. Close releases memory.
func NewReader(stored io.Reader, plain int64, identities ...age.Identity) (io.ReadCloser, error) {
	if len(identities) > 0 {
		decrypted, err := age.Decrypt(stored, identities...)
		if _, ok := errors.AsType[*age.NoIdentityMatchError](err); ok {
			return nil, fmt.Errorf("%w: it was encrypted to other recipients", ErrKey)
		}
		if err != nil {
			return nil, fmt.Errorf("decrypt: %w", err)
		}
		stored = decrypted
	}
	d, err := zstd.NewReader(stored, zstd.WithDecoderConcurrency(min(runtime.GOMAXPROCS(0), decoders)),
		zstd.WithDecoderMaxWindow(2*FrameSize), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, fmt.Errorf("make a decompressor: %w", err)
	}
	return &reader{decoder: d, left: plain}, nil
}

type reader struct {
	decoder *zstd.Decoder
	left    int64
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.decoder.Read(p)
	r.left -= int64(n)
	switch {
	case r.left < 0:
		return 0, fmt.Errorf("%w: it is longer than its manifest says", ErrDamaged)
	case errors.Is(err, io.EOF) && r.left > 0:
		return n, fmt.Errorf("%w: it ends %d bytes early", ErrDamaged, r.left)
	case err != nil && !errors.Is(err, io.EOF):
		return n, fmt.Errorf("decompress: %w", err)
	}
	return n, err
}

func (r *reader) Close() error {
	r.decoder.Close()
	return nil
}
