//go:build linux

package valkey

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/datadir"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/logfile"
)

// mostWaiting is how many files of the log may wait for the archive, and longestWait how long the oldest, before it is
// worth a warning. What archives asks every two seconds.
const (
	mostWaiting = 16
	longestWait = 5 * time.Minute
)

// forksOf says where the timelines of a copy begin. A timeline that goes on from an unknown place has no parent.
func forksOf(l datadir.Lineage) (all []logfile.Fork) {
	for i, b := range l {
		if b.ID == "" || i == 0 && !l.Whole() {
			continue
		}
		f := logfile.Fork{Timeline: b.Timeline, History: logfile.History(b.ID), Base: b.Base, Begin: b.Begin}
		if i > 0 && !b.Unsure {
			f.Parent = logfile.History(l[i-1].ID)
		}
		all = append(all, f)
	}
	return all
}

// belongs says whether a file is of the history of a copy, and not of one that was given up.
func belongs(l datadir.Lineage, f logfile.File) bool {
	for i, b := range l {
		if logfile.History(b.ID) != f.History {
			continue
		}
		return i+1 == len(l) || int64(f.End)+b.Base <= int64(l[i+1].Begin) //nolint:gosec // the log is far shorter
	}
	return false
}

// LogFiles implements api.LogKeeper.
func (s *Server) LogFiles(context.Context) (api.LogFiles, error) {
	s.mu.Lock()
	lineage := s.identity.Lineage
	_, on := s.settings.Values[logTimeout]
	confirmed := s.confirmedForks
	s.mu.Unlock()
	out := api.LogFiles{Timeline: lineage.Last()}
	if !on {
		return out, nil
	}
	if err := s.log.buffer.Keep(func(f logfile.File) bool { return belongs(lineage, f) }); err != nil {
		return out, err
	}
	for _, f := range forksOf(lineage) {
		if !slices.Contains(confirmed, f.Name()) {
			out.Names = append(out.Names, f.Name())
		}
	}
	files, _ := s.log.buffer.Files()
	for _, f := range files {
		out.Names = append(out.Names, f.String())
	}
	return out, nil
}

// fork returns the fork of a name that this copy knows.
func (s *Server) fork(name string) (logfile.Fork, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := forksOf(s.identity.Lineage)
	i := slices.IndexFunc(all, func(f logfile.Fork) bool { return f.Name() == name })
	if i < 0 {
		return logfile.Fork{}, false
	}
	return all[i], true
}

// ReadLog implements api.LogKeeper.
func (s *Server) ReadLog(_ context.Context, name string) (api.LogFile, []byte, error) {
	if f, ok := s.fork(name); ok {
		return api.LogFile{Name: name, Timeline: logfile.Forks, Start: f.Start(), End: f.End()}, f.Body(), nil
	}
	f, body, found, err := s.log.buffer.Read(name)
	if err == nil && !found {
		err = api.Refused{Why: fmt.Sprintf("%q does not wait for the archive", name)}
	}
	return api.LogFile{Name: name, Timeline: f.History, Start: logfile.Place(f.Start), End: logfile.Place(f.End),
		Time: f.Time}, body, err
}

// ConfirmLog implements api.LogKeeper.
func (s *Server) ConfirmLog(_ context.Context, name, sum string) error {
	f, ok := s.fork(name)
	if !ok {
		waited, _ := s.log.buffer.Files()
		err := s.log.buffer.Confirm(name, sum)
		if errors.Is(err, logfile.ErrOther) {
			return api.Refused{Why: fmt.Sprintf("%s has other bytes here than in the archive", name)}
		}
		if err == nil {
			s.noteArchived(name, waited)
		}
		return err
	}
	if !logfile.Sum(f.Body(), sum) {
		return api.Refused{Why: fmt.Sprintf("%s says something else here than in the archive", name)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.confirmedForks, name) {
		s.confirmedForks = append(s.confirmedForks, name)
	}
	return nil
}

// measureLog tells what waits for the archive.
func (s *Server) measureLog(m *api.Measures) {
	s.mu.Lock()
	_, on := s.settings.Values[logTimeout]
	s.mu.Unlock()
	if !on {
		return
	}
	files, lost := s.log.buffer.Files()
	waiting, since := "0", time.Duration(0)
	if n := len(files); n > 0 {
		since = time.Since(files[0].Since)
		word := "files"
		if n == 1 {
			word = "file"
		}
		waiting = fmt.Sprintf("%d %s, %s", n, word, since.Truncate(time.Second))
	}
	m.Readings = append(m.Readings, api.Reading{Name: "unarchived", Value: waiting})
	if len(files) > mostWaiting || since > longestWait {
		m.Warnings = append(m.Warnings, fmt.Sprintf("%s of the log wait for the archive: the logs of the pod "+
			"NAME-archive-0 say why", waiting))
	}
	s.tellArchived(m)
	if lost > 0 {
		m.Warnings = append(m.Warnings, fmt.Sprintf("%d files of the log had no room before the archive took them: "+
			"the log may have a gap; take a backup once the archive works", lost))
	}
}
