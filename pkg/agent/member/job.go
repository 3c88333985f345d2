package member

import (
	"context"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// jobEnd is the end of a job.
type jobEnd struct {
	protocol.Done
	server protocol.Server
	number int
}

// start ends the job before it, waits for that, and then runs the job.
func (m *Member) start(ctx context.Context, job protocol.Job) {
	before := m.ended
	if m.cancel != nil {
		m.cancel()
	}
	m.changes++
	number := m.changes
	ctx, m.cancel = context.WithCancel(ctx)
	ended := make(chan struct{})
	m.ended = ended
	m.jobs.Go(func() {
		defer close(ended)
		if before != nil {
			<-before
		}
		m.announce(job)
		err := m.Server.Do(ctx, job, func() bool { return m.valid(job.Generation) })
		if ctx.Err() == nil {
			m.ends(job, err)
		}
		if err != nil && ctx.Err() == nil {
			m.Report(string(job.Kind) + ": " + err.Error())
			select { // it is asked for again at once
			case <-ctx.Done():
			case <-time.After(retryPause):
			}
		}
		m.Deliver(jobEnd{Done: protocol.Done{Job: job}, server: m.Server.Observe(ctx), number: number})
	})
}

// ends keeps why a job failed. What comes between two tries, such as to stop the server, says nothing of that.
func (m *Member) ends(job protocol.Job, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	runs := job.Kind == protocol.Promote || job.Kind == protocol.Follow
	switch {
	case err != nil:
		m.failing, m.failed = string(job.Kind)+": "+err.Error(), job.Kind
	case runs || job.Kind == m.failed:
		m.failing, m.failed = "", ""
	}
}

// announce tells of jobs that take as long as there is data: until they end, nothing else is heard of them.
func (m *Member) announce(job protocol.Job) {
	switch job.Kind {
	case protocol.Initialise:
		m.Report("the group has this member make its first data")
	case protocol.Clone:
		m.Report("the data of " + string(job.Member) + " is copied to this member")
	}
}

func (m *Member) valid(g protocol.Generation) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.node.Leased(g, m.Now())
}
