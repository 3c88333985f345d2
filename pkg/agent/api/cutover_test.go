package api

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// mover is a driver whose server follows a source. What a cut over finds there happens during the halt.
type mover struct {
	during   func()
	led      bool
	halted   int
	unhalted int
	// may answers whether the way back can be gone, fails what a halt does; back says that one was asked for.
	may   func() error
	fails error
	back  bool
	ended int
}

func (*mover) Source(context.Context) *Source { return nil }

func (m *mover) Halt(ctx context.Context, how Cutover, leads func() bool) (Halted, error) {
	if m.back = how.Back; m.fails != nil {
		return Halted{}, m.fails
	}
	m.halted++
	if m.during != nil {
		m.during()
	}
	m.led = leads()
	return Halted{Since: time.Now(), Paused: time.Hour, Compared: "it agrees"}, ctx.Err()
}

func (m *mover) Unhalt(context.Context) error {
	m.unhalted++
	return nil
}

// following is m1, which leads and follows a source.
func following(t *testing.T) (*agent, *mover, *Service) {
	t.Helper()
	a, m := newAgent(), &mover{}
	d := *a.node.Document()
	d.Source = &protocol.Source{Address: "there:6379"}
	for id, one := range d.Members {
		one.Level = protocol.LevelOf((*protocol.BeginSource)(nil).Kind())
		d.Members[id] = one
	}
	a.node = protocol.New(protocol.Config{ID: "m1", Start: 1, Document: d})
	for _, effect := range a.node.Step(0, protocol.Tick{}) {
		if p, is := effect.(protocol.Propose); is {
			a.Propose(p.Entry)
		}
	}
	a.observe(true)
	if !a.node.Serves(0) {
		t.Fatal("m1 does not lead")
	}
	s := a.service()
	s.Mover = m
	return a, m, s
}

// observe has the agent see whether its server follows.
func (a *agent) observe(follows bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.node.Step(0, protocol.Observed{Server: protocol.Server{Role: protocol.Primary, Generation: 1, System: "s",
		Volume: "v1", Following: follows, Standbys: []protocol.Streaming{{Standby: protocol.Standby{Member: "m2"}}}}})
}

// follows says whether the group follows its source.
func (a *agent) follows() (does bool) {
	a.View(func(n *protocol.Node) { does = n.Document().Source != nil })
	return does
}

func TestCutOver(t *testing.T) {
	t.Parallel()
	a, m, s := following(t)
	m.during = func() { a.observe(false) }
	out, err := client(t, s).Cutover(t.Context(), Cutover{})
	if err != nil || out.Gap <= 0 || out.Paused <= 0 || a.follows() || m.unhalted != 0 {
		t.Errorf("it is %+v after %d halts and %d ends of them, %v", out, m.halted, m.unhalted, err)
	}
	if out, err = client(t, s).Cutover(t.Context(), Cutover{}); err != nil || out.Gap != 0 || m.halted != 1 {
		t.Errorf("again it is %+v after %d halts, %v", out, m.halted, err)
	}
}

// TestCutOverAlone: who asked is gone while the source is halted, and the cut over goes on. A second request waits for
// it.
func TestCutOverAlone(t *testing.T) {
	t.Parallel()
	a, m, s := following(t)
	ctx, gone := context.WithCancel(t.Context())
	second := make(chan error, 1)
	m.during = func() {
		gone()
		go func() {
			_, err := client(t, s).Cutover(t.Context(), Cutover{})
			second <- err
		}()
		a.observe(false)
	}
	if _, err := client(t, s).Cutover(ctx, Cutover{}); !errors.Is(err, context.Canceled) {
		t.Errorf("who is gone is told %v", err)
	}
	if err := <-second; err != nil || a.follows() || m.halted != 1 || m.unhalted != 0 {
		t.Errorf("after %d halts and %d ends of them: %v", m.halted, m.unhalted, err)
	}
}

// TestCutOverLost: its lease is given up while the source is halted. The next primary has the source take writes
// again; one that is none any more does not touch it.
func TestCutOverLost(t *testing.T) {
	t.Parallel()
	a, m, s := following(t)
	m.during = func() {
		a.Propose(&protocol.Release{Member: "m1", Generation: 1, Process: 1})
	}
	_, err := client(t, s).Cutover(t.Context(), Cutover{})
	if err == nil || !strings.Contains(err.Error(), "another primary follows it") || !a.follows() {
		t.Errorf("it ends with %v", err)
	}
	if m.led || m.unhalted != 0 {
		t.Errorf("it leads %t, and the halt is ended %d times", m.led, m.unhalted)
	}
	if _, err := client(t, s).Cutover(t.Context(), Cutover{}); err == nil || m.halted != 1 {
		t.Errorf("without a primary there are %d halts, %v", m.halted, err)
	}
}
