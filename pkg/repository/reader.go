package repository

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Reader streams the data of a backup. ErrDamaged comes at once if the data
// is missing or of another size than the manifest says, and at the end of the
// stream if its SHA-256 differs.
func (d *Directory) Reader(ctx context.Context, id string) (io.ReadCloser, Manifest, error) {
	m, err := d.Get(ctx, id)
	if err != nil {
		return nil, Manifest{}, fmt.Errorf("read backup: %w", err)
	}
	f, err := os.Open(d.DataFile(m))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, Manifest{}, fmt.Errorf("read backup %s: %w: its data %s is missing in %s; use another backup",
			id, ErrDamaged, m.File, d.URL())
	}
	if err != nil {
		return nil, Manifest{}, fmt.Errorf("read backup %s: %w", id, err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, Manifest{}, errors.Join(fmt.Errorf("read backup %s: %w", id, err), f.Close())
	}
	if info.Size() != m.Bytes {
		return nil, Manifest{}, errors.Join(sizeDiffers(m, info.Size()), f.Close())
	}
	return newCheckedReader(ctx, f, m), m, nil
}

// DataFile is the file with the data of a backup, for programs that read files. Reader compares what it holds.
func (d *Directory) DataFile(m Manifest) string { return filepath.Join(d.path, m.File) }

// checkedReader passes data on and withholds io.EOF from damaged data.
type checkedReader struct {
	ctx    context.Context
	source io.ReadCloser
	want   Manifest
	sum    hash.Hash
	bytes  int64
	err    error
}

func newCheckedReader(ctx context.Context, source io.ReadCloser, want Manifest) *checkedReader {
	return &checkedReader{ctx: ctx, source: source, want: want, sum: sha256.New()}
}

func (r *checkedReader) Read(p []byte) (int, error) {
	if r.err == nil {
		r.err = r.ctx.Err()
	}
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.source.Read(p)
	r.sum.Write(p[:n])
	r.bytes += int64(n)
	switch {
	case r.bytes > r.want.Bytes:
		r.err = sizeDiffers(r.want, r.bytes)
	case errors.Is(err, io.EOF):
		r.err = r.verdict()
	case err != nil:
		r.err = fmt.Errorf("read backup %s after %d of %d bytes: %w", r.want.ID, r.bytes, r.want.Bytes, err)
	}
	return n, r.err
}

func (r *checkedReader) Close() error { return r.source.Close() }

func (r *checkedReader) verdict() error {
	if r.bytes != r.want.Bytes {
		return sizeDiffers(r.want, r.bytes)
	}
	if sum := hex.EncodeToString(r.sum.Sum(nil)); sum != r.want.SHA256 {
		return fmt.Errorf("read backup %s: %w: its SHA-256 is %s, the manifest says %s; use another backup",
			r.want.ID, ErrDamaged, sum, r.want.SHA256)
	}
	return io.EOF
}

func sizeDiffers(m Manifest, bytes int64) error {
	return fmt.Errorf("read backup %s: %w: it has %d bytes, the manifest says %d; use another backup",
		m.ID, ErrDamaged, bytes, m.Bytes)
}
