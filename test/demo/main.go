// Command demo performs the main job on a real Kubernetes cluster with real
// etcd, with nothing but the commands that a person would type: it creates a
// cluster, grows and shrinks it, backs it up, upgrades it twice, restores the
// backup into a second cluster, and deletes both, while a client writes all
// the time. A cluster of PostgreSQL then loses its primary, is switched over,
// scaled and upgraded while rows are inserted, and has a table back that was
// dropped by mistake. One of Valkey loses its primary, is switched over and
// upgraded. It fails unless everything holds.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// demoWithin bounds the whole demonstration.
const demoWithin = 25 * time.Minute

func main() {
	os.Exit(run())
}

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, demoWithin)
	defer cancel()
	s, err := newStage(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		return 1
	}
	err = story(ctx, s)
	if err != nil {
		s.explain(ctx)
	}
	s.clear()
	s.print(os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "\ndemo: FAILED:", err)
		return 1
	}
	fmt.Println("\nAll of it held.")
	return 0
}
