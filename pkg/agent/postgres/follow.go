//go:build linux

package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/datadir"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// followTime bounds the questions to a primary.
const followTime = 5 * time.Second

// follow runs the server as a replica of the primary of a generation. A log that the primary's does not begin with is
// rewound first.
func (s *Server) follow(ctx context.Context, job protocol.Job) error {
	if err := s.mayFollow(job.Generation); err != nil {
		return err
	}
	if s.isPromoted() {
		if err := s.StopNow(); err != nil {
			return err
		}
	}
	s.mu.Lock()
	own, rewinding := s.identity.Lineage, s.identity.Rewinding
	if rewinding {
		s.unfit = halfRewound
	}
	s.mu.Unlock()
	if rewinding {
		return errors.New("follow " + string(job.Member) + ": " + halfRewound)
	}
	s.setBarred(false) // a replica takes no writes
	s.upstream.Aim(job.Member, job.Generation)
	past, system, err := s.ancestry(ctx)
	if err != nil {
		return fmt.Errorf("follow %s: %w", job.Member, err)
	}
	c, err := datadir.ReadControl(s.pgdata())
	if err != nil {
		return err
	}
	if c.System != system {
		return fmt.Errorf("follow %s: its database is %s, the one here %s", job.Member, system, c.System)
	}
	var stale datadir.LSN
	// One that streamed from this very timeline needs no comparison: that has one writer.
	if own.Timeline != past.Timeline {
		if stale, err = s.fork(ctx, job, own, past); err != nil {
			return err
		}
	}
	if err := s.setIdentity(func(id *datadir.Identity) { id.Lineage, id.Promoting = past, 0 }); err != nil {
		return err
	}
	s.mu.Lock()
	s.stale = stale
	copied := s.name()
	s.mu.Unlock()
	s.upstream.Link(copied)
	if err := s.dropLogicalSlots(ctx); err != nil {
		return fmt.Errorf("follow %s: %w", job.Member, err)
	}
	if err := s.start(ctx, job.Settings); err != nil {
		return err
	}
	if !s.isRewinding() {
		return nil
	}
	return s.arrive(ctx)
}

func (s *Server) isRewinding() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.identity.Rewinding
}

// arrive waits until the data of a rewound copy is whole.
func (s *Server) arrive(ctx context.Context) error {
	p := s.running()
	if p == nil {
		return errors.New("complete a rewind: the server ended")
	}
	if err := s.until(ctx, p, "complete a rewind", func(answer) bool { return true }); err != nil {
		return err
	}
	return s.setIdentity(func(id *datadir.Identity) { id.Rewinding = false })
}

// fork compares the end of this log with the history of the primary, and rewinds what the primary does not have. It
// returns what the server says to have received, which may end in the middle of a record.
func (s *Server) fork(ctx context.Context, job protocol.Job, own, past datadir.Lineage) (datadir.LSN, error) {
	var end, received datadir.LSN
	clean := false
	if s.running() == nil {
		if c, err := datadir.ReadControl(s.pgdata()); err == nil {
			s.mu.Lock()
			end, clean = s.cleanEnd(c)
			s.mu.Unlock()
		}
	}
	if !clean {
		var err error
		if end, received, err = s.replay(ctx, job.Settings); err != nil {
			return 0, err
		}
	}
	if past.Holds(own, end) {
		return received, nil
	}
	s.Report(fmt.Sprintf("the log ends at %s on timeline %d, which %s does not have: the data is rewound", end,
		own.At(end), job.Member))
	if err := s.stopFast(ctx); err != nil {
		return 0, err
	}
	s.upstream.Aim(job.Member, job.Generation)
	return 0, s.rewind(ctx, past)
}

// halfRewound is said of a copy whose rewind ended in the middle. pg_rewind must not run on it again: it truncates
// files before it writes them, those among them by which a second run would learn what to take back (the manual: "take
// a new fresh backup").
const halfRewound = "a rewind of this copy ended in the middle: it is made again"

// rewind takes back what the primary does not have. The server is stopped. What fails before anything is written leaves
// the data as it was: so a dry run comes first.
func (s *Server) rewind(ctx context.Context, past datadir.Lineage) error {
	if p := s.running(); p != nil {
		if err := s.stopFast(ctx); err != nil {
			return err
		}
	}
	// It reads the timeline of the primary in its control file.
	if err := s.awaitCheckpoint(ctx, past.Timeline); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(s.pgdata(), "standby.signal")); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("rewind the data: %w", err)
	}
	// Up to version 15 pg_rewind takes the timeline of the last checkpoint for that of the data. A replica that was
	// stopped may have none on its own timeline; this run ends with one.
	if err := s.Run(ctx, "postgres", "--single", "-D", s.pgdata(), "-c", "config_file="+
		filepath.Join(s.conf(), "postgresql.conf"), "template1"); err != nil {
		return fmt.Errorf("end the log of the data before its rewind: %w", err)
	}
	args := []string{"--target-pgdata", s.pgdata(), "--source-server", s.Conninfo(local.ToolPort, "dbname=postgres")}
	err := s.tryRewind(ctx, args, past)
	if errors.Is(err, errAway) {
		return err
	}
	if err == nil {
		if err := s.files.Keep(past); err != nil {
			return err
		}
		if err := s.setIdentity(func(id *datadir.Identity) { id.Rewinding = true }); err != nil {
			return err
		}
		if err = s.Run(ctx, "pg_rewind", args...); err == nil {
			s.files.Return()
		}
	}
	if err != nil && ctx.Err() == nil {
		s.mu.Lock()
		s.unfit = "it can't be rewound to follow the primary: " + err.Error()
		s.mu.Unlock()
	}
	return err
}

// errAway says that the primary went away during a dry run, which tells nothing of the copy.
var errAway = errors.New("the primary went away during a rewind, which had changed nothing")

// tryRewind runs a rewind that changes nothing. It fails for good once it failed twice while the primary was there.
func (s *Server) tryRewind(ctx context.Context, args []string, past datadir.Lineage) error {
	var err error
	for range 2 {
		if err = s.Run(ctx, "pg_rewind", append(slices.Clone(args), "--dry-run")...); err == nil {
			return nil
		}
		if now, _, asked := s.ancestry(ctx); asked != nil || now.Timeline != past.Timeline {
			return fmt.Errorf("%w: %w", errAway, err)
		}
	}
	return err
}

// awaitCheckpoint has the primary write a checkpoint on its timeline.
func (s *Server) awaitCheckpoint(ctx context.Context, timeline uint64) error {
	conn, err := local.Dial(ctx, s.Session(local.ToolPort, "postgres", "agent"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	got, err := local.Ask(ctx, conn, "SELECT timeline_id FROM pg_control_checkpoint()")
	if err == nil && got[0][0][0] != strconv.FormatUint(timeline, 10) {
		_, err = local.Ask(ctx, conn, "CHECKPOINT")
	}
	return err
}

// ancestryPause is the time between two questions: commits wait for standbys meanwhile.
const ancestryPause = 50 * time.Millisecond

// facts are what a primary tells those who follow it.
type facts struct {
	// System identifies its database, Past is its timeline with those before it.
	System string          `json:"system"`
	Past   datadir.Lineage `json:"past"`
}

// facts tells those of this server, while it serves. They are of no use where its control file can't be read: who asks
// asks the server then.
func (s *Server) facts() any {
	c, _ := datadir.ReadControl(s.pgdata())
	s.mu.Lock()
	defer s.mu.Unlock()
	return facts{c.System, s.identity.Lineage}
}

// ancestry asks the primary that is aimed at for its timeline and those before it, and for its system identifier. It
// asks again while the primary is not up yet. Its agent answers as soon as it serves. An earlier one tells no facts:
// then its server is asked, which starts a process for that.
func (s *Server) ancestry(ctx context.Context) (datadir.Lineage, string, error) {
	ctx, stop := context.WithTimeout(ctx, followTime)
	defer stop()
	for {
		var told facts
		if err := s.upstream.Facts(ctx, &told); err == nil && told.System != "" {
			return told.Past, told.System, nil
		}
		past, system, err := s.askAncestry(ctx)
		if err == nil {
			return past, system, nil
		}
		select {
		case <-ctx.Done():
			return datadir.Lineage{}, "", err
		case <-time.After(ancestryPause):
		}
	}
}

func (s *Server) askAncestry(ctx context.Context) (datadir.Lineage, string, error) {
	conn, err := local.Dial(ctx, s.Conninfo(local.ToolPort, "replication=true"))
	if err != nil {
		return datadir.Lineage{}, "", err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	got, err := local.Ask(ctx, conn, "IDENTIFY_SYSTEM")
	if err != nil {
		return datadir.Lineage{}, "", err
	}
	system := got[0][0][0]
	timeline, err := strconv.ParseUint(got[0][0][1], 10, 32)
	if err != nil || timeline == 1 {
		return datadir.Lineage{Timeline: timeline}, system, err
	}
	history, err := local.Ask(ctx, conn, "TIMELINE_HISTORY "+strconv.FormatUint(timeline, 10))
	if err != nil {
		return datadir.Lineage{}, "", err
	}
	past, err := datadir.ParseHistory(timeline, history[0][0][1])
	return past, system, err
}
