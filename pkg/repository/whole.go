package repository

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// ErrNeeded: another backup holds only what changed since this one.
var ErrNeeded = errors.New("another backup adds to it")

// Holder is a Repository that can be told to keep a backup for some time from every prune.
type Holder interface {
	Hold(ctx context.Context, id string, d time.Duration, reason string) error
}

// HoldFull prepares a backup that is to add to a full one: that must be there, must be a full one, and is held for as
// long as the other may take.
func HoldFull(ctx context.Context, r Repository, id string, d time.Duration) error {
	if h, ok := r.(Holder); ok {
		if err := h.Hold(ctx, id, d, "a backup that adds to it is taken"); err != nil {
			return fmt.Errorf("add to backup %s: %w", id, err)
		}
	}
	m, err := r.Get(ctx, id)
	if err != nil {
		return fmt.Errorf("add to backup %s: %w", id, err)
	}
	if m.Parent != "" {
		return fmt.Errorf("add to backup %s: it is no full backup itself, it adds to %s", id, m.Parent)
	}
	return nil
}

// Whole streams what a restore of a backup takes: its data and, where it adds to a full backup, the data of that behind
// it. size is how many bytes these are; sum is their SHA-256, or "" if it is not known: each part is compared at its
// own end, as Reader says.
func Whole(ctx context.Context, r Repository, id string) (data io.ReadCloser, size int64, sum string, err error) {
	first, m, err := r.Reader(ctx, id)
	if err != nil {
		return nil, 0, "", err
	}
	if m.Parent == "" {
		return first, m.Bytes, m.SHA256, nil
	}
	full, err := full(ctx, r, m)
	if err != nil {
		return nil, 0, "", errors.Join(err, first.Close())
	}
	return &both{first: first, open: func() (io.ReadCloser, error) {
		second, _, err := r.Reader(ctx, full.ID)
		return second, err
	}}, m.Bytes + full.Bytes, "", nil
}

// WholeBytes is how many bytes Whole streams.
func WholeBytes(ctx context.Context, r Repository, m Manifest) (int64, error) {
	if m.Parent == "" {
		return m.Bytes, nil
	}
	full, err := full(ctx, r, m)
	return m.Bytes + full.Bytes, err
}

// full is the backup that one adds to.
func full(ctx context.Context, r Repository, m Manifest) (Manifest, error) {
	p, err := r.Get(ctx, m.Parent)
	if err == nil && p.Parent != "" {
		err = fmt.Errorf("%w: it is no full one", ErrDamaged)
	}
	if err != nil {
		return p, fmt.Errorf("find backup %s, which %s adds to: %w", m.Parent, m.ID, err)
	}
	return p, nil
}

// both reads one stream and then another, which is opened only then.
type both struct {
	first, second io.ReadCloser
	open          func() (io.ReadCloser, error)
}

func (b *both) Read(p []byte) (int, error) {
	if b.second != nil {
		return b.second.Read(p)
	}
	n, err := b.first.Read(p)
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	b.second, err = b.open()
	return n, err
}

func (b *both) Close() error {
	err := b.first.Close()
	if b.second != nil {
		err = errors.Join(err, b.second.Close())
	}
	return err
}

// Adds fails unless a manifest names the full backup that its data adds to, if it does, and none otherwise.
func (m Manifest) Adds(facts engine.SnapshotFacts) error {
	switch {
	case facts.Incremental && m.Parent == "":
		return errors.New("it holds only what changed since a full backup, and can't be kept without that")
	case !facts.Incremental && m.Parent != "":
		return fmt.Errorf("it holds all of the data, and not what changed since backup %s", m.Parent)
	}
	return nil
}
