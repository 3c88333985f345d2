package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// VerifyHash implements engine.HashVerifier.
func (s *Session) VerifyHash(ctx context.Context, member, expected string) (bool, error) {
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
	return Mark(revision, hash.CompactRevision, hash.Hash) == expected, nil
}

// Mark is what a member is asked about with VerifyHash: its hash of the history
// between two revisions.
func Mark(revision, compacted int64, sum uint32) string {
	return fmt.Sprintf("hashkv:%d:%d:%08x", revision, compacted, sum)
}
