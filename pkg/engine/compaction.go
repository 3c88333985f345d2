package engine

import "context"

// CompactionRules is what an Engine also is if it keeps the history of its data
// until it is told to drop it. Its sessions are Compactors.
type CompactionRules interface {
	// CompactRevision is the revision before which history goes: the one that was asked
	// for, or, if that is 0, the present one less keep. 0 if there is nothing to
	// drop; a refusal if there is no such revision. It is pure.
	CompactRevision(v View, revision, keep int64) (int64, error)
	// CompactImpact says what clients lose with the history before a revision, one
	// sentence without a full stop.
	CompactImpact(before int64) string
}

// Compactor is the session of an engine with CompactionRules.
type Compactor interface {
	// Compact drops the history before a revision, and returns once each of the
	// named members has freed what it took up in its file. It can't be undone;
	// a repeat, and a revision that is gone already, is success.
	Compact(ctx context.Context, members []string, before int64) error
}
