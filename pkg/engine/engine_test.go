package engine

import (
	"slices"
	"testing"
)

// TestAmong: the word of the snapshot counts first.
func TestAmong(t *testing.T) {
	t.Parallel()
	now := []string{"db-1", "db-2"}
	if got := (SnapshotFacts{}).Among(now).Members; !slices.Equal(got, now) {
		t.Errorf("a snapshot without members is of %v", got)
	}
	if got := (SnapshotFacts{Members: []string{"db-9"}}).Among(now).Members; !slices.Equal(got, []string{"db-9"}) {
		t.Errorf("a snapshot of db-9 is of %v", got)
	}
}
