package store

import (
	"context"
	"fmt"
	"io"

	"golang.org/x/time/rate"
)

// Limit bounds how many bytes a second pass through a store, both ways together.
func Limit(s Store, bytesPerSecond int) Store {
	return &limited{Store: s, bucket: rate.NewLimiter(rate.Limit(bytesPerSecond), limitBurst)}
}

// limitBurst is what may pass at once; larger pieces wait several times.
const limitBurst = 256 << 10

type limited struct {
	Store

	bucket *rate.Limiter
}

func (l *limited) wait(ctx context.Context, n int) error {
	for n > 0 {
		piece := min(n, limitBurst)
		if err := l.bucket.WaitN(ctx, piece); err != nil {
			return fmt.Errorf("wait for the bandwidth limit: %w", err)
		}
		n -= piece
	}
	return nil
}

func (l *limited) Put(ctx context.Context, key string, body []byte, o Options) error {
	if err := l.wait(ctx, len(body)); err != nil {
		return err
	}
	return l.Store.Put(ctx, key, body, o)
}

func (l *limited) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	r, err := l.Store.Get(ctx, key, offset, length)
	if err != nil {
		return nil, err
	}
	return &limitedReader{ReadCloser: r, ctx: ctx, limit: l}, nil
}

func (l *limited) Upload(ctx context.Context, key string, o Options) (Upload, error) {
	u, err := l.Store.Upload(ctx, key, o)
	if err != nil {
		return nil, err
	}
	return &limitedUpload{Upload: u, limit: l}, nil
}

type limitedUpload struct {
	Upload

	limit *limited
}

func (u *limitedUpload) Part(ctx context.Context, n int, body []byte) error {
	if err := u.limit.wait(ctx, len(body)); err != nil {
		return err
	}
	return u.Upload.Part(ctx, n, body)
}

// limitedReader holds the context of the one stream that it is.
type limitedReader struct {
	io.ReadCloser

	ctx   context.Context
	limit *limited
}

func (r *limitedReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if n > 0 {
		if waited := r.limit.wait(r.ctx, n); waited != nil {
			return n, waited
		}
	}
	return n, err
}
