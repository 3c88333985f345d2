package etcd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

var (
	_ engine.DataHasher   = (*Engine)(nil)
	_ engine.HashVerifier = (*session)(nil)
)

// DataHash implements engine.DataHasher. The mark is the hash that etcd itself
// compares its members by, at the last revision of the file: it does not change
// when keys are written, or history is dropped, up to there.
func (*Engine) DataHash(dataDir string) (engine.DataHash, error) {
	c := newContents()
	c.history = &historyHash{}
	if err := c.read(filepath.Join(dataDir, "member", "snap", "db")); err != nil {
		return engine.DataHash{}, fmt.Errorf("read what was loaded: %w", err)
	}
	i := engine.DataHash{Fingerprint: c.facts.Fingerprint}
	// Without a key that lives, etcd hashes what a compaction is about to drop.
	if c.history.live > 0 {
		i.Mark = mark(c.latest, c.compacted, c.history.sum())
	}
	return i, nil
}

// VerifyHash implements engine.HashVerifier.
func (s *session) VerifyHash(ctx context.Context, member, expected string) (bool, error) {
	var revision int64
	if _, err := fmt.Sscanf(expected, "hashkv:%d:", &revision); err != nil || revision <= 0 {
		return false, fmt.Errorf("ask member %s what it serves: %q is no mark", member, expected)
	}
	hash, err := s.hashAt(ctx, member, revision)
	if errors.Is(err, engine.ErrNotReady) {
		// It has dropped that revision meanwhile.
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return mark(revision, hash.CompactRevision, hash.Hash) == expected, nil
}

func mark(revision, compacted int64, sum uint32) string {
	return fmt.Sprintf("hashkv:%d:%d:%08x", revision, compacted, sum)
}
