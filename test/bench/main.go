// Command bench measures the built plugin on a real cluster against what a
// person would use instead, both within one run and one after the other, prints a table
// and writes docs/bench.json. docs/benchmarks.md explains each measure.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// benchWithin bounds the whole run.
const benchWithin = 2 * time.Hour

// settings are what the command line chooses.
type settings struct {
	rounds  int
	repeats int
	sizeMiB int
	// storeMiB is how long the stream is that goes into a repository.
	storeMiB int
	only     string
	// troubles are those that are made to clusters of agents; all if empty.
	troubles string
	// clusters are the sizes of fleets, edits how many changes are timed in each, idleFor how long it is left alone.
	clusters string
	edits    int
	idleFor  time.Duration
	fleetDir string
	out      string
}

func main() {
	os.Exit(run())
}

func run() int {
	var set settings
	flag.IntVar(&set.rounds, "rounds", 5, "how often each side of the comparison of create runs")
	flag.IntVar(&set.repeats, "repeats", 3, "how often everything else on a cluster runs")
	flag.IntVar(&set.sizeMiB, "size", 256, "MiB of values in the keyspace that is backed up")
	flag.IntVar(&set.storeMiB, "stream", 1024, "MiB of the stream that is written to repositories and read back")
	flag.StringVar(&set.only, "only", "", "measures to take, such as create,scale; all if empty: "+
		strings.Join(names(), ","))
	flag.StringVar(&set.troubles, "troubles", "", "troubles to make in postgres and valkey; all if empty: "+
		strings.Join(troubles(), ","))
	flag.StringVar(&set.clusters, "clusters", "100,1000", "how many clusters the operator manages, smallest first")
	flag.IntVar(&set.edits, "edits", 100, "how many edits of such clusters are timed")
	flag.DurationVar(&set.idleFor, "idle", 32*time.Minute,
		"how long the operator is left alone with 1,000 clusters or more; each of them is due once in 25 to 31 minutes; "+
			"0: only create them, and leave them there")
	flag.StringVar(&set.fleetDir, "fleet", "",
		"directory of a fleet that an earlier run left behind: its clusters are not created again")
	flag.StringVar(&set.out, "out", "docs/bench.json", "file for the results; empty for none")
	flag.Parse()
	for _, one := range []struct {
		flag, value string
		known       []string
	}{{"only", set.only, names()}, {"troubles", set.troubles, troubles()}} {
		for n := range strings.SplitSeq(one.value, ",") {
			if n != "" && !slices.Contains(one.known, n) {
				fmt.Fprintf(os.Stderr, "bench: -%s knows no %q, only %s\n", one.flag, n, strings.Join(one.known, ", "))
				return 2
			}
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, benchWithin)
	defer cancel()
	b, err := newBench(set)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	failed := b.all(ctx)
	b.rows.print(os.Stdout)
	if set.out != "" {
		if err := b.rows.write(set.out); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			return 1
		}
	}
	if failed {
		return 1
	}
	return 0
}
