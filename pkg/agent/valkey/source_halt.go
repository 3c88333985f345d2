//go:build linux

package valkey

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/session"
)

const (
	// haltTime bounds the time for which writes stop if it comes to nothing, stayTime is for how long they stay stopped
	// once all of them are here: who still writes there would lose that.
	haltTime = 20 * time.Second
	stayTime = time.Hour
	// nearEnough is how many bytes may be on their way when writes stop: that is how long the stop takes.
	nearEnough = 16 << 20
	// quietTime is for how long a source is watched whose writers a person stopped.
	quietTime = 2 * time.Second
	// quietBytes are what a source says within that without a write: that it is there, and a question for the offset.
	quietBytes = 128
)

var _ api.Mover = (*Server)(nil)

// Source implements api.Mover.
func (s *Server) Source(ctx context.Context) *api.Source {
	s.source.mu.Lock()
	out := api.Source{Address: s.source.to.Address, Problem: s.source.problem,
		Refused: s.source.refused, Users: s.source.users}
	s.source.mu.Unlock()
	s.mu.Lock()
	following := s.following != nil
	s.mu.Unlock()
	if out.Address == "" {
		return nil
	}
	text, err := s.ask(ctx, "INFO", "replication")
	if err != nil {
		return &out
	}
	fields := infoFields(text)
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(fields[name], 10, 64) // what is not there is 0
		return n
	}
	if !following {
		out.Received = number("master_sync_read_bytes")
		return &out
	}
	out.Following, out.Linked = true, fields["master_link_status"] == "up"
	out.Silent = time.Duration(max(number("master_last_io_seconds_ago"), number("master_link_down_since_seconds"))) *
		time.Second
	if of, err := s.source.state(ctx); err == nil {
		out.Lag = max(0, of.offset-number("master_repl_offset"))
	}
	return &out
}

// Halt implements api.Mover.
func (s *Server) Halt(ctx context.Context, how api.Cutover, leads func() bool) (out api.Halted, err error) {
	if how.Back {
		return out, api.NoBack{Why: noBack}
	}
	s.mu.Lock()
	of := s.following
	s.mu.Unlock()
	if of == nil {
		return out, api.Refused{Why: "the server of this member follows no source"}
	}
	what := "cut over from " + of.Address
	if lag, err := s.behind(ctx); err != nil || lag > nearEnough {
		return out, api.Refused{Why: fmt.Sprintf("%s: wait until it is followed closely: %s", what,
			lagText(lag, err))}
	}
	out.Since = time.Now()
	if how.Stopped {
		if err := s.quiet(ctx); isForbidden(err) {
			return out, err
		} else if err != nil {
			return out, api.Refused{Why: what + ": " + err.Error()}
		}
		return out, nil
	}
	if _, err := s.source.asked.Do(ctx, "CLIENT", "PAUSE", milliseconds(haltTime), "WRITE"); isAnswered(err) {
		return out, api.Forbidden{Why: fmt.Sprintf("%s does not let its user pause writes: %s", of.Address, err)}
	} else if err != nil {
		return out, api.Refused{Why: what + ": " + err.Error()}
	}
	ctx, stop := context.WithDeadline(ctx, out.Since.Add(haltTime/2))
	defer stop()
	err = s.reach(ctx)
	if err == nil && !leads() {
		err = errors.New("this member is not the primary any more")
	}
	if err == nil {
		_, err = s.source.asked.Do(ctx, "CLIENT", "PAUSE", milliseconds(stayTime), "WRITE")
	}
	if err != nil && leads() {
		err = errors.Join(err, s.Unhalt(context.WithoutCancel(ctx)))
	}
	if err != nil {
		return out, api.Refused{Why: what + ": " + err.Error()}
	}
	out.Paused = stayTime
	return out, nil
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// Unhalt implements api.Mover.
func (s *Server) Unhalt(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, session.AskTime)
	defer stop()
	if _, err := s.source.asked.Do(ctx, "CLIENT", "UNPAUSE"); err != nil {
		return fmt.Errorf("the source refuses writes until its pause is over, or CLIENT UNPAUSE: %w", err)
	}
	return nil
}

// behind asks both servers how many bytes are not here yet. It is an error if the stream is not that of the source.
func (s *Server) behind(ctx context.Context) (int64, error) {
	of, err := s.source.state(ctx)
	if err != nil {
		return 0, err
	}
	return s.lacks(ctx, of)
}

// lacks says how many bytes of what the source said are not here yet.
func (s *Server) lacks(ctx context.Context, of answer) (int64, error) {
	own, err := s.state(ctx)
	switch {
	case err != nil:
		return 0, err
	case !of.primary:
		return 0, errors.New("it is no primary any more")
	case !own.linked:
		return 0, errors.New("the connection to it is broken")
	case own.id != of.id:
		return 0, errors.New("its history is another one")
	}
	return of.offset - own.offset, nil
}

// reach waits until the server holds all that the source has written by now.
func (s *Server) reach(ctx context.Context) error {
	of, err := s.source.state(ctx)
	if err != nil {
		return err
	}
	for {
		lag, err := s.lacks(ctx, of)
		if err == nil && lag <= 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.New("what was written there is not here in time: " + lagText(lag, err))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// quiet proves that nobody writes to the source for a moment, and that the server holds all of it.
func (s *Server) quiet(ctx context.Context) error {
	before, err := s.source.state(ctx)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(quietTime):
	}
	after, err := s.source.state(ctx)
	if err != nil {
		return err
	}
	if grown := after.offset - before.offset; grown > quietBytes {
		return api.Forbidden{Why: fmt.Sprintf("something still writes to the source: its log grew by %d bytes in %s", grown,
			quietTime)}
	}
	return s.reach(ctx)
}

func lagText(lag int64, err error) string {
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d bytes are missing", lag)
}

func isForbidden(err error) bool {
	_, is := errors.AsType[api.Forbidden](err)
	return is
}
