//go:build e2e

package valkey

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/scene"
	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
)

// routed is a scene with a cluster that clients reach in one of two ways.
type routed struct{ *scene.Scene }

// newRouted is one with three members that lasts as long as all deaths take.
func newRouted(t *testing.T, more ...string) routed {
	t.Helper()
	s := scene.New(t, "routing-kill")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.Ctx), deathsWithin)
	t.Cleanup(cancel)
	s.Ctx = ctx
	create(s, "valkey", release(s, "valkey", 8), "3", append([]string{"--config", "durability=strict"}, more...)...)
	return routed{s}
}

// Load implements torture.Scene: the client writes by the client service.
func (s routed) Load() func() time.Duration {
	s.Helper()
	command(s.Scene, "DEL", "written")
	w := s.Writes(s.Site.StartValkeyWriter(s.Ctx, s.NS, "db", "valkey", release(s.Scene, "valkey", 8).Image, ""))
	began := time.Now()
	return func() time.Duration {
		s.Helper()
		w.MustGoOn("the last death", began)
		gap, err := w.LongestGap(s.Ctx, began, time.Now())
		s.OK(err)
		w.Check(func() []string { return command(s.Scene, "SMEMBERS", "written") })
		return gap
	}
}

// TestRoutingKilled kills the tool with SIGKILL between the steps that change the way of clients, in both directions,
// and types the same command again, until it is done. Meanwhile a client writes, and loses nothing.
func TestRoutingKilled(t *testing.T) {
	if !torture.Full() {
		t.Skip("make torture ENGINE=valkey runs it")
	}
	results := &torture.Ledger{}
	t.Cleanup(func() { results.Write(t) })
	for _, way := range [][2]string{{"direct", "proxied"}, {"proxied", "direct"}} {
		t.Run("to-"+way[0], func(t *testing.T) {
			reroute(way[0], way[1]).Kill(t, results, rand.New(rand.NewPCG(torture.Seed(t), 1)))
		})
	}
}

// reroute is a change of the way of clients.
func reroute(to, from string) torture.Verb[routed] {
	change := func(to string) []string { return []string{"configure", "db", "--routing", to} }
	return torture.Verb[routed]{Name: "Valkey: configure --routing " + to,
		Stage: func(t *testing.T) routed { return newRouted(t, "--routing", from) },
		Arm:   func(routed) []string { return change(to) },
		Check: func(s routed) {
			s.Healthy(3)
			s.Led(to == "direct")
		},
		Reset: func(s routed) { s.Must(change(from)...) }}
}
