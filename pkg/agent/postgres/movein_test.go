//go:build linux

package postgres

import (
	"strings"
	"testing"
)

// TestBarred: as long as a source is followed nobody but the agent is let in.
func TestBarred(t *testing.T) {
	t.Parallel()
	s := &Server{}
	for line := range strings.Lines(s.hba(true)) {
		if !strings.HasSuffix(line, " reject\n") && !strings.HasPrefix(line, "local ") {
			t.Errorf("a client is let in: %s", line)
		}
	}
	if !strings.Contains(s.hba(false), "host all all all scram-sha-256\n") {
		t.Error("no client is let in")
	}
}
