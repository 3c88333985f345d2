package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// onlineBar is for how many seconds at most nobody may be able to write.
const onlineBar = 5

// measureOnline moves three members of PostgreSQL to the next major version and back, while a client writes by the
// service of the first cluster.
func measureOnline(ctx context.Context, b *bench) error {
	from, err := harness.Releases("postgres", 17)
	if err != nil {
		return err
	}
	to, err := harness.Releases("postgres", 18)
	if err != nil {
		return err
	}
	return b.inNamespace(ctx, func(ns string) error {
		if _, err := b.dbop(ctx, "create", "db", "--engine", "postgres", "--version", from[0].Version, "--image",
			from[0].Image, "--members", "3", "--config", "durability=strict,wal_level=logical", "-n", ns); err != nil {
			return err
		}
		_, err := b.dbop(ctx, "connect", "db", "-n", ns, "--", "-At", "-d", "app", "-c", harness.PostgresTable)
		if err != nil {
			return err
		}
		w, err := b.site.StartPodWriter(ctx, harness.PostgresWriter(ns, "db", from[0].Image))
		if err != nil {
			return err
		}
		upgrade := []string{"upgrade", "db", "--online", "--into", "next", "--yes", "-n", ns}
		var there, back samples
		for range b.repeats {
			for _, way := range []struct {
				gaps *samples
				args []string
			}{{&there, []string{"--version", to[0].Version, "--image", to[0].Image}}, {&back, []string{"--back"}}} {
				gap, err := b.moves(ctx, w, slices.Concat(upgrade, way.args)...)
				if err != nil {
					return err
				}
				way.gaps.took(gap)
			}
			if _, err := b.dbop(ctx, "delete", "next", "--purge", "--yes", "-n", ns); err != nil {
				return err
			}
		}
		b.rows.judged("longest write gap of an online upgrade of 3 members from 17 to 18, median", there.median(), "s",
			onlineBar, there.spread("s"))
		b.rows.judged("longest write gap of the way back, median", back.median(), "s", onlineBar, back.spread("s"))
		acks, err := w.Stop(ctx)
		if err != nil {
			return err
		}
		r, err := b.dbop(ctx, "connect", "db", "-n", ns, "--", "-At", "-d", "app", "-c", "SELECT n FROM written")
		if err != nil {
			return err
		}
		b.rows.judged("acknowledged writes lost in online upgrades", float64(len(harness.Missing(acks,
			strings.Fields(r.Stdout)))), "writes", 0, fmt.Sprintf("of %d, with durability=strict", len(acks)))
		return nil
	})
}

// moves runs a command that moves the clients, and returns the longest time for which none could write.
func (b *bench) moves(ctx context.Context, w *harness.PodWriter, args ...string) (time.Duration, error) {
	began := time.Now()
	if _, err := b.dbop(ctx, args...); err != nil {
		return 0, err
	}
	if err := w.GoesOn(ctx, "writes after the clients moved"); err != nil {
		return 0, err
	}
	gap, err := w.LongestGap(ctx, began, time.Now())
	fmt.Printf("%.0f s, no write for %.2f s\n", time.Since(began).Seconds(), gap.Seconds())
	return gap, err
}
