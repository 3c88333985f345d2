//go:build linux

package postgres

import (
	"errors"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/process"
)

// TestStateOf: a server that was asked to stop is asked nothing more. Each question would start a process of it during
// a switchover.
func TestStateOf(t *testing.T) {
	t.Parallel()
	stops, next := &process.Process{}, &process.Process{}
	s := &Server{asked: stops, observer: local.Session{Conninfo: "host=" + t.TempDir()}}
	if _, err := s.stateOf(t.Context(), stops); !errors.Is(err, errStops) {
		t.Errorf("a server that stops was asked: %v", err)
	}
	if _, err := s.stateOf(t.Context(), next); err == nil || errors.Is(err, errStops) {
		t.Errorf("the next run was not asked: %v", err)
	}
}
