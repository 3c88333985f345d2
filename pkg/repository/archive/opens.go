package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"filippo.io/age"
)

// headerBytes is more than the header of a volume takes: some 200 bytes for each recipient, 2 KiB for a hybrid one.
const headerBytes = 64 << 10

// Opens says whether the secret keys at hand read a backup, as the header of its first volume has it. Nothing of the
// content is read. A manifest says nothing of who may read: that it is signed says who wrote.
func (a *Archive) Opens(ctx context.Context, m *Manifest) (bool, error) {
	if !m.Encrypted || len(m.Streams) == 0 || len(m.Streams[0].Volumes) == 0 {
		return true, nil
	}
	if len(a.keys.Identities) == 0 {
		return false, nil
	}
	first := m.Streams[0]
	opens, err := a.opensObject(ctx, m.volumeKey(first.Name, 0), first.Volumes[0].Bytes)
	if err != nil {
		return false, fmt.Errorf("read the header of backup %s: %w", m.ID, err)
	}
	return opens, nil
}

// Opens says whether the secret keys at hand read a segment, as its header has it.
func (l *Log) Opens(ctx context.Context, s Segment) (bool, error) {
	if !s.encrypted {
		return true, nil
	}
	if len(l.archive.keys.Identities) == 0 {
		return false, nil
	}
	opens, err := l.archive.opensObject(ctx, s.key, s.Bytes)
	if err != nil {
		return false, fmt.Errorf("read the header of segment %s: %w", s.Name, err)
	}
	return opens, nil
}

// opensObject tries the secret keys on the header of an object of so many bytes: ErrDamaged if it is none.
func (a *Archive) opensObject(ctx context.Context, key string, size int64) (bool, error) {
	in, err := a.store.Get(ctx, key, 0, min(headerBytes, size))
	if err != nil {
		return false, err
	}
	defer in.Close() //nolint:errcheck // it was read
	header, err := io.ReadAll(io.LimitReader(in, headerBytes))
	if err != nil {
		return false, err
	}
	_, err = age.Decrypt(bytes.NewReader(header), a.keys.Identities...)
	if _, other := errors.AsType[*age.NoIdentityMatchError](err); other {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return true, nil
}
