package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

var _ engine.LogSource = (*Session)(nil)

// kept is what one member keeps for the archive.
type kept struct {
	member string
	files  api.LogFiles
}

// WaitingLog implements engine.LogSource. Only members that are on the timeline of the primary are sources: what
// another one holds may belong to a history that was given up.
func (s *Session) WaitingLog(ctx context.Context) ([]engine.WaitingLog, error) {
	primary, members, err := s.findPrimary(ctx)
	if err != nil {
		return nil, err
	}
	first, err := s.logFiles(ctx, primary)
	if err != nil {
		return nil, err
	}
	all := []kept{{primary, first}}
	var errs []error
	for _, m := range members {
		if m == primary {
			continue
		}
		files, err := s.logFiles(ctx, m)
		if err != nil {
			errs = append(errs, err)
		} else if files.Timeline == first.Timeline {
			all = append(all, kept{m, files})
		}
	}
	return join(all), errors.Join(errs...)
}

// join lists each file once. The first is the primary.
func join(all []kept) []engine.WaitingLog {
	out := []engine.WaitingLog{}
	for _, k := range all {
		for _, name := range k.files.Names {
			i := slices.IndexFunc(out, func(w engine.WaitingLog) bool { return w.Name == name })
			if i < 0 {
				out, i = append(out, engine.WaitingLog{Name: name, Primary: k.member == all[0].member}), len(out)
			}
			out[i].Members = append(out[i].Members, k.member)
		}
	}
	slices.SortFunc(out, func(a, b engine.WaitingLog) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (s *Session) logFiles(ctx context.Context, member string) (api.LogFiles, error) {
	ctx, stop := context.WithTimeout(ctx, observeTimeout)
	defer stop()
	c, err := s.client(member)
	if err != nil {
		return api.LogFiles{}, err
	}
	return c.LogFiles(ctx)
}

// findPrimary asks the members that are known for the primary of this incarnation, and for all members with data.
func (s *Session) findPrimary(ctx context.Context) (primary string, members []string, err error) {
	why := errors.New("no agent answered")
	for _, name := range s.known() {
		st, err := s.status(ctx, name)
		switch {
		case err != nil:
			why = err
			continue
		case st.Token == "":
			why = fmt.Errorf("%s has not joined yet", name)
			continue
		case st.Token != s.token:
			return "", nil, fmt.Errorf("read the log of %s: it belongs to another incarnation", name)
		case !st.Quorum || st.Phase != protocol.Serving:
			why = fmt.Errorf("%s knows of no primary", name)
			continue
		}
		for _, m := range st.Members {
			if !m.Witness && m.Joined {
				members = append(members, string(m.ID))
			}
		}
		s.learn(members)
		return string(st.Primary), members, nil
	}
	return "", nil, fmt.Errorf("find the primary: %w: %w", why, engine.ErrNotReady)
}

// learn notes the members of today: those that the cluster object tells of may all have been replaced.
func (s *Session) learn(members []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answered = slices.Clone(members)
}

func (s *Session) status(ctx context.Context, member string) (api.Status, error) {
	ctx, stop := context.WithTimeout(ctx, observeTimeout)
	defer stop()
	c, err := s.client(member)
	if err != nil {
		return api.Status{}, err
	}
	return c.Status(ctx)
}

// ReadLog implements engine.LogSource.
func (s *Session) ReadLog(ctx context.Context, w engine.WaitingLog) (engine.LogFile, []byte, error) {
	var errs []error
	for _, member := range w.Members {
		c, err := s.client(member)
		if err != nil {
			return engine.LogFile{}, nil, err
		}
		f, body, err := c.ReadLog(ctx, w.Name)
		if err == nil {
			return engine.LogFile{Timeline: f.Timeline, Name: f.Name, Start: f.Start, End: f.End, Time: f.Time}, body, nil
		}
		errs = append(errs, err)
	}
	return engine.LogFile{}, nil, fmt.Errorf("read %s: %w", w.Name, errors.Join(errs...))
}

// ConfirmLog implements engine.LogSource.
func (s *Session) ConfirmLog(ctx context.Context, w engine.WaitingLog, sum string) error {
	var errs []error
	for _, member := range w.Members {
		c, err := s.client(member)
		if err == nil {
			err = c.ConfirmLog(ctx, w.Name, sum)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
