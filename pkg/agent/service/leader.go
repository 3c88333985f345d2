//go:build linux

// Package service has the Kubernetes service of clients select the pod of the primary. It speaks to the API server over
// HTTPS, and needs to get and patch that one object.
package service

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/pulse"
)

// Config is what a leader of clients needs of the agent.
type Config struct {
	Member protocol.MemberID
	// Token identifies the incarnation: generations are counted in each.
	Token   string
	Service Service
	// Now reads CLOCK_BOOTTIME.
	Now func() protocol.Instant
	// Report takes what a person should know.
	Report func(string)
}

const (
	// readInterval is how often the service is read while nothing changes: somebody may have edited it.
	readInterval = 30 * time.Second
	// retryInterval is how soon what failed is tried again, tryTime bounds one try.
	retryInterval = time.Second
	tryTime       = 5 * time.Second
)

// Leader leads clients to this member while it is the primary. Where another member is, that one's does.
type Leader struct {
	config  Config
	route   atomic.Pointer[protocol.Route]
	changed chan struct{}
	// said is what was reported last.
	said string
}

// New returns a leader that knows no route yet.
func New(c Config) *Leader {
	l := &Leader{config: c, changed: make(chan struct{}, 1)}
	l.route.Store(&protocol.Route{})
	return l
}

// Set takes the present route. It never waits.
func (l *Leader) Set(r protocol.Route) {
	if before := l.route.Swap(&r); before.Primary == r.Primary && before.Generation == r.Generation {
		return
	}
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// Run leads clients until the context is done. What fails is tried again: the API server may be away, and somebody may
// have to mend a right.
func (l *Leader) Run(ctx context.Context) {
	timer := time.NewTimer(readInterval)
	defer timer.Stop()
	for {
		next := pulse.Next(readInterval)
		if err := l.Lead(ctx); err != nil && ctx.Err() == nil {
			l.report("clients are not led to this member: " + err.Error())
			next = pulse.Next(retryInterval)
		} else {
			l.said = ""
		}
		timer.Reset(next)
		select {
		case <-ctx.Done():
			return
		case <-l.changed:
		case <-timer.C:
		}
	}
}

// report says a thing once, until another is to be said.
func (l *Leader) report(what string) {
	if what != l.said {
		l.config.Report(what)
	}
	l.said = what
}

// leads is the generation in which this member is the primary now, under its lease; 0 if it is not.
func (l *Leader) leads() protocol.Generation {
	r := l.route.Load()
	if r.Primary != l.config.Member || l.config.Now() >= r.Until {
		return 0
	}
	return r.Generation
}

// Lead has the service select this member now, if it is the primary; else it does nothing. Who writes at the same time
// makes it begin again. It may be called while Run does the same.
func (l *Leader) Lead(ctx context.Context) error {
	if l.leads() == 0 {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, tryTime)
	defer stop()
	api, err := l.config.Service.open()
	if err != nil {
		return err
	}
	defer api.close()
	for {
		have, err := api.get(ctx)
		if err != nil {
			return err
		}
		g := l.leads() // it may have taken a while
		switch {
		case g == 0:
			return nil
		case have.later(l.config.Token, g):
			// No later one begins while this lease goes on: somebody wrote it by hand, or this lease ended right now.
			return l.config.Service.refuse(g)
		}
		change := l.config.Service.change(have, l.config.Member, l.config.Token, g)
		if change == nil {
			return nil
		}
		conflict, err := api.patch(ctx, change)
		if err != nil || !conflict {
			return err
		}
	}
}
