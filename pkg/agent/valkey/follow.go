//go:build linux

package valkey

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/datadir"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/volume"
)

// facts is what a primary tells those who follow.
type facts struct {
	System  string          `json:"system"`
	Lineage datadir.Lineage `json:"lineage"`
	// Base is added to the offsets of its server.
	Base int64 `json:"base"`
	// Release is the version of its server.
	Release string `json:"release,omitempty"`
	// Source says that the data is that of a server outside of the group, and holds no users: these are Accounts.
	Source   bool               `json:"source,omitempty"`
	Accounts map[string]account `json:"accounts,omitempty"`
}

func (s *Server) facts() any {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := facts{System: s.identity.System, Lineage: s.identity.Lineage, Base: s.base, Release: s.product.release}
	if f.Source = s.identity.Source; f.Source {
		f.Accounts = s.accounts
	}
	return f
}

// followTime bounds the questions to a primary, and the time until a stream goes on.
const followTime = 5 * time.Second

// factsPause is the time between two questions: writes wait for replicas meanwhile.
const factsPause = 20 * time.Millisecond

// askFacts asks the primary that is aimed at. It asks again while the primary is not up yet.
func (s *Server) askFacts(ctx context.Context) (f facts, err error) {
	ctx, stop := context.WithTimeout(ctx, followTime)
	defer stop()
	for {
		if err = s.upstream.Facts(ctx, &f); err == nil {
			return f, nil
		}
		select {
		case <-ctx.Done():
			return f, err
		case <-time.After(factsPause):
		}
	}
}

// older says whether this server may not be able to read the data of a primary: that is of a newer series.
func (s *Server) older(f facts) error {
	series := func(release string) (numbers [2]int) {
		for i, part := range strings.SplitN(release, ".", len(numbers)+1) {
			if i < len(numbers) {
				numbers[i], _ = strconv.Atoi(part) // of an agent that does not tell it is 0
			}
		}
		return numbers
	}
	own, theirs := series(s.product.release), series(f.Release)
	if slices.Compare(own[:], theirs[:]) < 0 {
		return fmt.Errorf("the primary runs %s, and this member %s: it follows once it is upgraded", f.Release,
			s.product.release)
	}
	return nil
}

// follow runs the server as a replica of the primary of a generation. It goes on from where it is, if the history of
// the primary begins with its own and the primary still has what comes next; else it receives a copy of all data aside.
func (s *Server) follow(ctx context.Context, job protocol.Job) error {
	if err := s.mayFollow(job.Generation); err != nil {
		return err
	}
	s.source.choose(protocol.Source{})
	s.mu.Lock()
	stop := s.promoted > 0 || s.making
	s.mu.Unlock()
	if stop {
		if err := s.StopNow(); err != nil {
			return err
		}
	}
	s.upstream.Aim(job.Member, job.Generation)
	f, err := s.askFacts(ctx)
	if err != nil {
		return fmt.Errorf("follow %s: %w", job.Member, err)
	}
	s.mu.Lock()
	own := s.identity
	s.mu.Unlock()
	if f.System != own.System {
		return fmt.Errorf("follow %s: its database is %s, the one here %s", job.Member, f.System, own.System)
	}
	if err := s.older(f); err != nil {
		return fmt.Errorf("follow %s: %w", job.Member, err)
	}
	if err := s.startSaved(ctx, job, f); ctx.Err() != nil {
		return fmt.Errorf("follow %s: %w", job.Member, err)
	} else if err != nil {
		s.Report("go on from the file of the last stop: " + err.Error())
	}
	if s.goesOn(ctx, f) {
		on, err := s.goOn(ctx, f)
		if on || err != nil {
			return err
		}
	}
	s.Report(fmt.Sprintf("this copy can't go on from where it is: all data of %s is copied", job.Member))
	return s.receive(ctx, job, f)
}

// startSaved starts a server that stopped in order from the file of that stop, if the primary can go on with it.
func (s *Server) startSaved(ctx context.Context, job protocol.Job, f facts) error {
	s.mu.Lock()
	id, still := s.identity, s.proc == nil || !s.streamed && s.promoted == 0
	s.mu.Unlock()
	if id.Saved == nil || id.End == nil || !still || !f.Lineage.Holds(id.Lineage, id.End.Offset) {
		return nil
	}
	if err := s.StopNow(); err != nil { // it may have loaded its append-only files, to tell what it holds
		return err
	}
	s.upstream.Aim(job.Member, job.Generation) // the stop ended that
	return s.resume(ctx, job.Settings)
}

// goesOn says whether the data of the server that runs is the beginning of the primary's.
func (s *Server) goesOn(ctx context.Context, f facts) bool {
	s.mu.Lock()
	possible := s.proc != nil && s.streamed && !s.refused && s.base == f.Base
	s.mu.Unlock()
	if !possible {
		return false
	}
	end, err := s.end(ctx)
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return f.Lineage.Holds(s.identity.Lineage, end.Offset)
}

// goOn lets the server stream from the primary, and says whether it does. A primary that wants to replace all data is
// not heard.
func (s *Server) goOn(ctx context.Context, f facts) (bool, error) {
	p := s.running()
	if p == nil {
		return false, nil
	}
	if err := s.setIdentity(func(id *datadir.Identity) { id.Lineage, id.Source = f.Lineage, f.Source }); err != nil {
		return false, err
	}
	if err := s.expectSilence(ctx, f.Source); err != nil {
		return false, err
	}
	s.mu.Lock()
	name := volume.CopyName(protocol.Standby{Member: s.ID, Volume: s.identity.Volume})
	s.mu.Unlock()
	s.upstream.Link(name)
	if err := s.reconnect(ctx); err != nil {
		return false, err
	}
	ctx, stop := context.WithTimeout(ctx, followTime)
	defer stop()
	linked := false
	err := s.until(ctx, p, "go on with a stream", func(a answer) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		linked = a.linked
		return linked || s.refused
	})
	return linked, err
}

// reconnect has the server connect to its upstream at once: by itself it tries once a second, and writes wait
// meanwhile. It does nothing if the address stays the same, so that is written in two ways.
func (s *Server) reconnect(ctx context.Context) error {
	s.mu.Lock()
	s.otherName = !s.otherName
	host := upstreamHost
	if s.otherName {
		host = "127.1"
	}
	s.mu.Unlock()
	if _, err := s.ask(ctx, "REPLICAOF", host, strconv.Itoa(s.upstreamPort)); err != nil {
		return fmt.Errorf("connect the server to its upstream: %w", err)
	}
	return nil
}
