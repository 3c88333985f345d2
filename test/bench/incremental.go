package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

const (
	barIncremental = 0.25
	// changedParts is the inverse of the share of rows that change. Each changes two pages: that of the old row and that
	// of the new one, so these are 5 % of the pages.
	changedParts = 40
)

// measureIncremental holds a backup of what changed against a full one, both into a directory.
func measureIncremental(ctx context.Context, b *bench) error {
	found, err := harness.Releases("postgres", 17)
	if err != nil {
		return err
	}
	return b.inNamespace(ctx, func(ns string) error {
		rows := b.sizeMiB * mebibyte / rowBytes
		if _, err := b.dbop(ctx, "create", "big", "--engine", "postgres", "--version", found[0].Version, "--image",
			found[0].Image, "--members", "1", "--storage", "4Gi", "--config", "summarize_wal=on", "-n", ns); err != nil {
			return err
		}
		query := func(statements ...string) error {
			args := []string{"connect", "big", "-n", ns, "--", "-q", "-d", "app"}
			for _, s := range statements {
				args = append(args, "-c", s)
			}
			_, err := b.dbop(ctx, args...)
			return err
		}
		if err := query(fmt.Sprintf("CREATE TABLE much AS SELECT n, md5(n::text) || md5((-n)::text) AS word, "+
			"random() AS number FROM generate_series(1, %d) n", rows)); err != nil {
			return err
		}
		var full, changed, bytes samples
		for i := range b.repeats {
			// Who reads a row first after it was written changes its page, unless VACUUM did.
			if err := query("VACUUM (FREEZE) much"); err != nil {
				return err
			}
			dir := filepath.Join(b.home, fmt.Sprintf("incremental-%d", i))
			r, err := b.dbop(ctx, "backup", "big", "--to", dir, "-n", ns)
			if err != nil {
				return err
			}
			full.took(r.Duration)
			all, err := harness.LastBackup(dir)
			if err != nil {
				return err
			}
			if err := query(fmt.Sprintf("UPDATE much SET number = random() WHERE n / %d = %d", rows/changedParts, i+1),
				"CHECKPOINT"); err != nil {
				return err
			}
			if r, err = b.dbop(ctx, "backup", "big", "--to", dir, "--incremental", "-n", ns); err != nil {
				return err
			}
			changed.took(r.Duration)
			part, err := harness.LastBackup(dir)
			if err != nil {
				return err
			}
			bytes = append(bytes, float64(part.Bytes)/float64(all.Bytes))
			fmt.Printf("full %.2f s, changed %.2f s, %d of %d bytes\n", full[i], changed[i], part.Bytes, all.Bytes)
		}
		what := fmt.Sprintf("incremental backup of %d MiB, of which 5 %% changed ÷ full backup", b.sizeMiB)
		b.rows.judged(what+", time", changed.median()/full.median(), "ratio", barIncremental,
			"incremental: "+changed.spread("s")+"; full: "+full.spread("s"))
		b.rows.judged(what+", bytes", bytes.median(), "ratio", barIncremental, "single rounds: "+bytes.spread("ratio"))
		return nil
	})
}
