package main

import (
	"context"
	"fmt"
	"os"
)

const (
	// startRuns is how often each program starts; the first ones only warm the page cache.
	startRuns = 20
	warmRuns  = 2
)

// measureStart holds the start of the tool against kubectl's own. The tool is
// run as the file that kubectl executes; through kubectl its start includes kubectl's.
func measureStart(ctx context.Context, b *bench) error {
	kubectl, through := b.kubectl(), b.site.Kubectl(b.home)
	through.Path = kubectl.Path
	var ours, theirs, both, ourPeak, theirPeak samples
	for i := range startRuns + warmRuns {
		direct, err := succeed(ctx, b.cli, "version", "--client")
		if err != nil {
			return err
		}
		other, err := succeed(ctx, kubectl, "version", "--client")
		if err != nil {
			return err
		}
		plugin, err := succeed(ctx, through, "dbop", "version", "--client")
		if err != nil {
			return err
		}
		if i < warmRuns {
			continue
		}
		ours.took(direct.Duration)
		theirs.took(other.Duration)
		both.took(plugin.Duration)
		// Watching a process disturbs it, so memory has runs of its own.
		mib, err := peakMiB(ctx, b.cli, watchEvery, "version", "--client")
		if err != nil {
			return err
		}
		ourPeak = append(ourPeak, mib)
		if mib, err = peakMiB(ctx, kubectl, watchEvery, "version", "--client"); err != nil {
			return err
		}
		theirPeak = append(theirPeak, mib)
	}
	b.rows.judged("version --client ÷ kubectl version --client, wall", ours.median()/theirs.median(), "ratio", 0.7,
		"ours: "+ours.spread("s")+"; kubectl: "+theirs.spread("s"))
	b.rows.judged("version --client ÷ kubectl version --client, peak memory",
		ourPeak.median()/theirPeak.median(), "ratio",
		1.0,
		"ours: "+ourPeak.spread("MiB")+"; kubectl: "+theirPeak.spread("MiB"))
	b.rows.plain("kubectl dbop version --client through kubectl ÷ kubectl version --client, wall",
		both.median()/theirs.median(), "ratio",
		"through kubectl: "+both.spread("s"))
	return nil
}

// measureSize reads the size of the built binary.
func measureSize(_ context.Context, b *bench) error {
	info, err := os.Stat(b.site.Bin)
	if err != nil {
		return fmt.Errorf("read the size of the binary: %w", err)
	}
	b.rows.judged("stripped binary", float64(info.Size())/1e6, "MB", 75, "as make build makes it")
	return nil
}
