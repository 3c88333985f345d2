package agent

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	contract "github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// TestLogGapValkey kills the server of the primary, which comes back as the primary: nobody knows where its log ended.
// The log says that it has a gap, what is before it can be restored, and a backup behind it needs nothing from before.
func TestLogGapValkey(t *testing.T) {
	if !torture() && !*allFlag {
		t.Skip("-all is not set")
	}
	t.Parallel()
	s := newSite(t, options{durability: protocol.Strict, members: 3, engine: logging{}})
	s.wait("all to stream", func() bool { return s.primary() != nil && s.whole() })
	collector := s.collector(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- collector.Run(ctx) }()
	var st journal
	writing, rest := context.WithCancel(t.Context())
	var writer sync.WaitGroup
	writer.Go(func() { st.write(writing, s) })
	p := s.awaitPrimary()
	before := s.facts(s.other(p), "before")
	time.Sleep(3 * time.Second)
	moment := time.Now()
	s.wait("the moment to be archived", func() bool { return s.window(t, collector, before).To.After(moment) })
	crash := time.Now()
	p.strike(p.first, syscall.SIGKILL)
	s.wait("the primary to be back", func() bool {
		st := p.status()
		return st != nil && st.Generation > 1 && st.Server.Serving && s.whole()
	})
	behind := s.facts(s.other(p), "behind")
	time.Sleep(3 * time.Second)
	rest()
	writer.Wait()
	end := time.Now()
	s.wait("the log behind the gap to be archived", func() bool {
		now := s.window(t, collector, behind)
		return now.To.After(end) && now.Gap == ""
	})
	w := s.window(t, collector, before)
	if w.Gap == "" || !w.To.After(moment) || w.To.After(crash) {
		t.Errorf("the server crashed at %s, until %s all was archived, and the window is %+v", crash, moment, w)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	whole := s.window(t, collector, behind)
	for _, r := range []struct {
		backup, timeline string
		at, until        time.Time
		late             time.Duration
	}{
		{"before", w.Timeline, w.To, w.To, 1500 * time.Millisecond},
		{"before", w.Timeline, time.Time{}, crash, crash.Sub(w.To)}, // all that is there
		{"behind", whole.Timeline, end, end, 1500 * time.Millisecond},
	} {
		t.Run(fmt.Sprintf("%s-%d", r.backup, r.at.Unix()), func(t *testing.T) {
			target := v1alpha1.RecoveryTarget{Time: v1alpha1.TargetLatest, Timeline: r.timeline}
			if !r.at.IsZero() {
				target.Time = r.at.Format(time.RFC3339Nano)
			}
			to := newSite(t, options{durability: protocol.Async, members: 1, engine: valkey{}})
			m := to.forwardBy(s, collector, r.backup, contract.ForwardTo{Target: target})
			st.check(t, st.held(t, to, m), r.until, r.late)
		})
	}
}
