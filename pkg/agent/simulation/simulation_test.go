package simulation

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "run this world only, and print what happened")
	worldFlag = flag.Int("worlds", 0, "run so many worlds")
	firstFlag = flag.Bool("first", false, "stop at the first broken promise")
)

func torture() bool { return os.Getenv("DBOP_TORTURE") == "all" }

// chosen are the options of a world, by its seed.
func chosen(seed uint64) options {
	o := options{length: 6 * time.Minute}
	o.durability = []protocol.Durability{protocol.Strict, protocol.Preferred, protocol.Async}[seed%3]
	switch (seed / 3) % 6 {
	case 0, 1, 2:
		o.founders = 3
	case 3:
		o.founders = 5
	case 4:
		o.founders, o.witness = 3, true
	case 5:
		o.founders = 1
		if o.durability == protocol.Strict { // one member alone acknowledges nothing
			o.durability = protocol.Preferred
		}
	}
	switch (seed / 18) % 5 {
	case 1:
		o.lyingClocks = o.durability == protocol.Strict
	case 2:
		o.pauses = true
	case 3:
		o.volumes = o.founders >= 3
	}
	return o
}

// TestWorlds runs random worlds; none may break a promise.
func TestWorlds(t *testing.T) {
	t.Parallel()
	worlds := 24
	if torture() {
		worlds = 4000
	}
	if *worldFlag > 0 {
		worlds = *worldFlag
	}
	first := uint64(1)
	if *seedFlag > 0 {
		first, worlds = *seedFlag, 1
	}
	var steps, acks, primaries, idle int
	for seed := first; seed < first+uint64(worlds); seed++ {
		w := newWorld(seed, chosen(seed))
		if failure := w.run(); failure != "" {
			t.Errorf("seed %d (%+v): %s", seed, w.options, failure)
			if *firstFlag {
				return
			}
		}
		if *seedFlag > 0 {
			t.Log("\n" + strings.Join(w.log, "\n"))
		}
		steps, acks, primaries = steps+w.steps, acks+w.acks, primaries+w.primaries
		if w.acks == 0 {
			idle++
		}
	}
	t.Logf("%d worlds, %d steps, %d acknowledged writes, %d primaries, %d worlds without a write", worlds, steps, acks,
		primaries, idle)
	if *seedFlag == 0 && (acks < 500*worlds || primaries < 5*worlds || idle > 0) {
		t.Errorf("the worlds are too quiet to prove anything")
	}
}

// TestMistakes makes one mistake at a time around the protocol; each must be noticed.
func TestMistakes(t *testing.T) {
	t.Parallel()
	worlds := 9 // mistakes that take longer to notice are made where DBOP_TORTURE is all
	if torture() {
		worlds = 3000
	}
	for _, m := range []mistake{
		guardSleeps, floorForgotten, cutPretended, anyUpstream, backendsIgnored, rollbackAccepted, fastLeader, volumeKept,
		startRepeated, setIgnored,
	} {
		t.Run(string(m), func(t *testing.T) {
			t.Parallel()
			for seed := max(1, *seedFlag); seed < max(1, *seedFlag)+uint64(worlds); seed++ {
				o := chosen(seed)
				o.mistake = m
				switch m {
				case rollbackAccepted, volumeKept:
					o.volumes, o.founders, o.durability = true, 3, protocol.Strict
				case floorForgotten, cutPretended, anyUpstream: // with clocks that hold, no old primary is left to stream from
					o.lyingClocks, o.founders, o.durability = true, 3, protocol.Strict
				}
				w := newWorld(seed, o)
				failure := w.run()
				if *seedFlag > 0 {
					t.Log("\n" + strings.Join(w.log, "\n"))
				}
				if failure != "" {
					t.Logf("noticed in world %d: %s", seed, failure)
					return
				}
			}
			if torture() {
				t.Error("nobody noticed")
			}
			t.Skip("not noticed in so few worlds")
		})
	}
}
