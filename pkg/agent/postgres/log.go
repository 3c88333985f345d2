//go:build linux

package postgres

import (
	"context"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
)

// LogFiles implements api.LogKeeper.
func (s *Server) LogFiles(context.Context) (api.LogFiles, error) {
	s.mu.Lock()
	past, position := s.identity.Lineage, s.position
	s.mu.Unlock()
	return s.files.Offer(past, position)
}

// ReadLog implements api.LogKeeper.
func (s *Server) ReadLog(ctx context.Context, name string) (api.LogFile, []byte, error) {
	return s.files.Read(ctx, name)
}

// ConfirmLog implements api.LogKeeper.
func (s *Server) ConfirmLog(_ context.Context, name, sum string) error {
	return s.files.Confirm(name, sum)
}

// measureArchive tells what waits for the archive, and how far that has the log of the timeline of this server.
func (s *Server) measureArchive(out *api.Measures) {
	s.mu.Lock()
	timeline := s.identity.Lineage.Timeline
	s.mu.Unlock()
	out.ArchivedUntil = s.files.Until(timeline)
	w, err := s.files.Measure()
	if err != nil {
		out.Miss("what waits for the archive", err)
		return
	}
	out.Readings = append(out.Readings, api.Reading{Name: "unarchived", Value: w.String()})
	if w.Late() {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%s of the log wait for the archive, and the volume fills "+
			"up: the logs of the pod NAME-archive-0 say why", w))
	}
}
