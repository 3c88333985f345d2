package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// PutSame stores an object unless the same bytes are there already, which is success: an earlier attempt may
// have stored them and lost the answer. ErrExists if other bytes are there.
func PutSame(ctx context.Context, s Store, key string, body []byte, o Options) error {
	err := s.Put(ctx, key, body, o)
	if !errors.Is(err, ErrExists) {
		return err
	}
	there, read := ReadAll(ctx, s, key, int64(len(body)))
	switch {
	case read != nil && !errors.Is(read, ErrTooLong):
		return read
	case read == nil && bytes.Equal(there, body):
		return nil
	}
	return fmt.Errorf("%w: %s in %s has other bytes; it was left as it is", ErrExists, key, s.URL())
}

// ReadAll reads a whole object of at most limit bytes into memory: ErrTooLong if it has more.
func ReadAll(ctx context.Context, s Store, key string, limit int64) ([]byte, error) {
	r, err := s.Get(ctx, key, 0, limit+1)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	body, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s from %s: %w", key, s.URL(), err)
	}
	if int64(len(body)) > limit {
		return nil, fmt.Errorf("read %s from %s: %w: it has more than %d bytes", key, s.URL(), ErrTooLong, limit)
	}
	return body, nil
}
