//go:build linux

package postgres

import (
	"context"
	"errors"
	"fmt"
	"os/exec"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/floors"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/process"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// written reads the settings with which the log was written that this copy holds.
func (s *Server) written() (floors.Values, error) {
	out, err := exec.Command(s.Program("pg_controldata"), s.pgdata()).Output() //nolint:gosec // the program is ours
	if err != nil {
		return nil, fmt.Errorf("read the settings with which the log was written: %w", err)
	}
	return floors.Written(string(out)), nil
}

// meetLog starts a replica again that has higher settings than asked for and than its log needs: once promoted, it
// would write them into its log, and servers that follow would stop to apply it.
func (s *Server) meetLog(ctx context.Context, settings protocol.Settings) error {
	if start, _ := s.late(); len(start) == 0 {
		return nil
	}
	if err := s.stopFast(ctx); err != nil {
		return err
	}
	_, _, err := s.replay(ctx, settings)
	return err
}

// lower gives a server that was just promoted settings that are lower than those of the log that it read. A server
// takes them only when it starts without an upstream, and then it writes them into its log; replicas may start with
// them once they have read that (CheckRequiredParameterValues and XLogReportParameters in PostgreSQL's xlog.c). So the
// server starts once more, before anybody is served. One that does not start with them has its former settings again. A
// crash leaves a directory that starts in recovery, as after any other.
func (s *Server) lower(ctx context.Context, job protocol.Job, valid func() bool) error {
	s.mu.Lock()
	former, asked, wanted := s.launched, floors.Asked(s.settings.Values), s.settings.Values
	s.mu.Unlock()
	if len(former.Above(asked)) == 0 {
		return nil
	}
	if err := s.stopFast(ctx); err != nil {
		return err
	}
	err := s.startPromoted(ctx, job, valid, asked.Raise(wanted))
	if err == nil || errors.Is(err, errLeaseOver) || ctx.Err() != nil {
		return err
	}
	s.Report(fmt.Sprintf("the server does not start with lower settings, and keeps the former ones: %v", err))
	if err := s.StopNow(); err != nil {
		return err
	}
	return s.startPromoted(ctx, job, valid, former.Raise(wanted))
}

// lowered ends what a promotion began with.
func (s *Server) lowered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lowering = false
}

// startPromoted starts a server that was promoted under the lease that still holds.
func (s *Server) startPromoted(ctx context.Context, job protocol.Job, valid func() bool,
	values map[string]string) error {
	if err := s.files.Reset(); err != nil {
		return err
	}
	s.mu.Lock()
	settings := s.settings
	s.mu.Unlock()
	if err := s.writeFiles(settings, values); err != nil {
		return err
	}
	if !valid() || ctx.Err() != nil {
		return errLeaseOver
	}
	p, err := s.relaunch(job, values)
	if err != nil {
		return err
	}
	err = s.until(ctx, p, "start the server with lower settings", func(a answer) bool {
		return !a.recovering && a.synchronous == setNames(job.Set)
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set = job.Set.Version
	return nil
}

func (s *Server) relaunch(job protocol.Job, values map[string]string) (*process.Process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.launch()
	if err != nil {
		return nil, err
	}
	s.proc, s.promoted, s.flushed, s.launched, s.pending = p, job.Generation, s.Now(), floors.Asked(values), nil
	return p, nil
}

// late tells which settings this run of the server has higher than they were asked for. A start brings those that the
// log does not ask for any more; the others are held: they come once the primary has them.
func (s *Server) late() (start, held []string) {
	s.mu.Lock()
	over, wanted, launched := s.proc != nil && s.promoted == 0, floors.Asked(s.settings.Values), s.launched
	s.mu.Unlock()
	if !over {
		return nil, nil // a primary names them itself
	}
	above := launched.Above(wanted)
	if len(above) == 0 {
		return nil, nil
	}
	written, err := s.written()
	if err != nil {
		return nil, above
	}
	for _, name := range above {
		if launched[name] > written[name] {
			start = append(start, name)
		} else {
			held = append(held, name)
		}
	}
	return start, held
}
