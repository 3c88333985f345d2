package api

import (
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestSwitchoverReturns: a switchover is answered once the former primary follows the next one, or when that takes too
// long.
func TestSwitchoverReturns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		follows bool
		least   time.Duration
		most    time.Duration
	}{
		"it follows":  {follows: true, least: 300 * time.Millisecond, most: returnTime - time.Second/2},
		"it does not": {least: returnTime, most: returnTime + 10*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAgent()
			a.node.Document().Members["m2"] = protocol.Member{Start: 1, Level: 1, Volume: "v2"}
			client := client(t, a.service())
			answered := make(chan error, 1)
			go func() { answered <- client.Switchover(t.Context(), Switchover{Target: "m2"}) }()
			for asked := false; !asked; time.Sleep(time.Millisecond) {
				a.View(func(*protocol.Node) { asked = len(a.asked) > 0 })
			}
			a.View(func(n *protocol.Node) {
				d := n.Document()
				d.Generation, d.Primary, d.Phase = 2, "m2", protocol.Serving
			})
			began := time.Now()
			if c.follows {
				time.AfterFunc(c.least, func() {
					a.View(func(n *protocol.Node) {
						n.Step(0, protocol.Observed{Server: protocol.Server{Role: protocol.Replica, Generation: 2, System: "s",
							Volume: "v1", Upstream: "m2"}})
					})
				})
			}
			err := <-answered
			if took := time.Since(began); err != nil || took < c.least || took > c.most {
				t.Errorf("it is answered after %s: %v", took, err)
			}
		})
	}
}
