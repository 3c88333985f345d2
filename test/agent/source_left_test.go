package agent

import (
	"context"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
)

// halts waits until the source acknowledges nothing any more.
func (a *acknowledged) halts(s *site) {
	s.t.Helper()
	s.wait("the source to refuse writes", func() bool {
		before := a.rows.Load()
		time.Sleep(300 * time.Millisecond)
		return a.rows.Load() == before
	})
}

// TestSourceLeft loses the primary while the source refuses writes for a cut over that the group did not agree on, and
// nobody asks for it again. The next primary has the source take writes. What the lost one had asked for comes late,
// and has no effect. A cut over after that loses nothing.
func TestSourceLeft(t *testing.T) {
	t.Parallel()
	source, o := sourceOf(t, "redis-7", "")
	writer := source.write()
	defer writer.end()
	s := newSite(t, o)
	p := s.followed("the source is followed")
	cut := func(now bool) {
		for _, m := range s.members {
			if m != p {
				s.links[[2]id{p.id, m.id}].set(now)
				s.links[[2]id{m.id, p.id}].set(now)
			}
		}
	}
	cut(true)
	asked := make(chan error, 1)
	go func() {
		ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
		defer stop()
		_, err := p.client.Cutover(ctx, api.Cutover{})
		asked <- err
	}()
	writer.halts(s)
	paused := time.Now()
	p.kill()
	t.Logf("the request that was cut off ended with %v", <-asked)
	s.wait("another primary", func() bool { n := s.primary(); return n != nil && n != p })
	rows := writer.rows.Load()
	s.wait("the source takes writes", func() bool { return writer.rows.Load() > rows })
	t.Logf("the source refused writes for %s", time.Since(paused).Round(10*time.Millisecond))
	cut(false)
	p.start()
	s.followed("the source is followed again")
	s.wait("all stream", s.whole)
	if _, err := s.insertAt(s.awaitPrimary()); err == nil {
		t.Error("the cluster takes writes, and nobody asked for it")
	}
	s.cutOver(api.Cutover{})
	writer.end()
	s.compare(writer)
}

// TestSourceNobodyWaits: who asked for a cut over is gone while the source refuses writes. The agent ends what it
// started.
func TestSourceNobodyWaits(t *testing.T) {
	t.Parallel()
	source, o := sourceOf(t, "valkey-8", "")
	o.source.Address = source.lagging(time.Second)
	writer := source.write()
	defer writer.end()
	s := newSite(t, o)
	p := s.followed("the source is followed")
	ctx, gone := context.WithCancel(t.Context())
	asked := make(chan error, 1)
	go func() {
		_, err := p.client.Cutover(ctx, api.Cutover{})
		asked <- err
	}()
	writer.halts(s)
	gone()
	t.Logf("who asked is gone: %v", <-asked)
	s.wait("the cluster takes writes", func() bool { _, err := s.insertAt(p); return err == nil })
	writer.end()
	s.compare(writer)
}
