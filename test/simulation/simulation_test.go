package simulation

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

var (
	seedFlag   = flag.Uint64("seed", 0, "first seed of the simulation; 0 begins at 1")
	worldsFlag = flag.Int("worlds", 0, "worlds to simulate; 0 for the bounded run")
	stepsFlag  = flag.Int("steps", 0, "go on until so many steps were planned")
	traceFlag  = flag.Int("trace", 60, "lines of the trace that a failure shows")
)

// boundedWorlds are simulated by a plain go test, tortureSteps are planned at
// least where DBOP_TORTURE is set to all.
const (
	boundedWorlds = 2000
	tortureSteps  = 1_000_000
)

// outcome is how a world ended.
type outcome struct {
	test   string
	seed   uint64
	broken string
	all    []string
	trace  string
	steps  int
	tally  map[string]int
	took   time.Duration
}

// TestMain takes one processor: of goroutines that wake at the same virtual
// moment, two would run in an order that no seed reproduces.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	os.Exit(m.Run())
}

// play simulates one world in virtual time.
func play(t *testing.T, e engine.Engine, seed uint64, m Mischief,
	decide func(engine.Engine, ops.State) ops.Decision) outcome {
	t.Helper()
	out := outcome{test: t.Name(), seed: seed}
	synctest.Test(t, func(*testing.T) {
		began := time.Now()
		w := newWorld(e, seed, m)
		w.Run(seed, decide)
		out.all = w.broken
		out.broken, out.trace, out.steps, out.tally, out.took = w.Broken(), w.History(*traceFlag), w.Steps(), w.Tally(),
			time.Since(began)
	})
	return out
}

func (o outcome) String() string {
	return fmt.Sprintf("%s\n\n%s\n\nreproduce: go test ./test/simulation -run %s -args -seed %d -worlds 1 -trace 400",
		o.broken, o.trace, o.test, o.seed)
}

// TestSimulation plays worlds until one breaks a promise.
func TestSimulation(t *testing.T) { simulate(t, etcd.New(), boundedWorlds) }

func simulate(t *testing.T, e engine.Engine, bounded int) {
	t.Helper()
	first, worlds, enough, steps := max(*seedFlag, 1), *worldsFlag, *stepsFlag, 0
	if worlds == 0 {
		worlds = bounded
		if os.Getenv("DBOP_TORTURE") == "all" {
			enough = max(enough, tortureSteps)
		}
	}
	var lived time.Duration
	n, tally := 0, map[string]int{}
	for ; n < worlds || steps < enough; n++ {
		o := play(t, e, first+uint64(n), Mischief{}, planner.Decide)
		steps += o.steps
		lived += o.took
		for k, v := range o.tally {
			tally[k] += v
		}
		if o.broken != "" {
			t.Fatal(o)
		}
	}
	t.Logf("%d worlds, %d planned steps, %s of simulated time", n, steps, lived.Round(time.Hour))
	for _, k := range slices.Sorted(maps.Keys(tally)) {
		t.Logf("%6d %s", tally[k], k)
	}
}
