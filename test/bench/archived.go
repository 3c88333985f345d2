package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

const (
	// barArchived is the bar of 0.9 of the throughput without an archive, as the ratio of that to ours.
	barArchived = 1 / 0.9
	// archivedFor is how long one run takes, some files of the log.
	archivedFor = 12 * time.Second
	// onceArchived waits in a member's pod until no file of the log waits for the archive.
	onceArchived = `cd /var/lib/postgresql/member/data/pgdata/pg_wal/archive_status; ` +
		`while ls | grep -q ready; do sleep 0.1; done; `
)

// measureArchived holds the throughput of a member whose log is archived in an object store of the same cluster against
// that of one without, one after the other.
func measureArchived(ctx context.Context, b *bench) error {
	found, err := harness.Releases("postgres", 15)
	if err != nil {
		return err
	}
	if !b.site.HasObjectStore() {
		return errors.New("there is no image of an object store: run make stores cluster-up")
	}
	return b.inNamespace(ctx, func(ns string) error {
		if err := b.site.AddObjectStore(ctx, ns, b.home); err != nil {
			return err
		}
		names := []string{"without", "archived"}
		for _, name := range names {
			args := []string{"create", name, "--engine", "postgres", "--version", found[0].Version, "--image", found[0].Image,
				"--members", "1", "--storage", "4Gi", "-n", ns}
			if name == "archived" {
				args = append(args, "--config", "archive-repository=offsite")
			}
			if _, err := b.dbop(ctx, args...); err != nil {
				return err
			}
			if _, err := b.pgbench(ctx, ns, name, "-i -q -s 10"); err != nil {
				return err
			}
		}
		got := map[string]*samples{"without": {}, "archived": {}}
		var ratios samples
		tps := printed(`tps = ([0-9.]+)`)
		for round := range b.rounds {
			for i := range names {
				name := names[(round+i)%len(names)]
				out, err := b.pgbench(ctx, ns, name, fmt.Sprintf("-n -c 8 -j 2 -T %d", int(archivedFor.Seconds())))
				if err != nil {
					return err
				}
				rate, err := tps(out)
				if err != nil {
					return err
				}
				*got[name] = append(*got[name], rate)
			}
			without, archived := (*got["without"])[round], (*got["archived"])[round]
			ratios = append(ratios, without/archived)
			fmt.Printf("%.0f a second without an archive, %.0f with\n", without, archived)
		}
		b.rows.judged("pgbench TPC-B, requests a second without an archive ÷ with the log archived in S3", ratios.median(),
			"ratio", barArchived, fmt.Sprintf("archived: %s; without: %s; single rounds: %s", got["archived"].spread("a second"),
				got["without"].spread("a second"), ratios.spread("ratio")))
		return nil
	})
}

// pgbench runs in the pod of the only member, by its socket, once no file of its log waits, and then until none does.
func (b *bench) pgbench(ctx context.Context, ns, cluster, options string) (string, error) {
	out, err := b.inPod(ctx, ns, cluster+"-1-0", "", onceArchived+"pgbench -h "+agentSocket+" -U dbop "+options+
		" app; "+onceArchived)
	return out, err
}
