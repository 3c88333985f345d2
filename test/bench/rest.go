package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	// restFor is how long a cluster is left alone.
	restFor = time.Minute
	// ticks are those of the kernel in a second of processor time.
	ticks = 100
)

// atRest leaves a new cluster alone, and measures the processor time of agents and guards, and how many objects of its
// namespace were written meanwhile.
func (b *bench) atRest(ctx context.Context, ns string) error {
	if err := b.settled(ctx, ns); err != nil {
		return err
	}
	if err := pause(ctx, calm); err != nil {
		return err
	}
	before, err := b.versions(ctx, ns)
	if err != nil {
		return err
	}
	used, err := b.agentTicks(ctx, ns)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := pause(ctx, restFor); err != nil {
		return err
	}
	now, err := b.agentTicks(ctx, ns)
	if err != nil {
		return err
	}
	took := time.Since(began).Seconds()
	after, err := b.versions(ctx, ns)
	if err != nil {
		return err
	}
	var share samples
	for i := range used {
		share = append(share, (now[i]-used[i])/ticks/took*100)
	}
	b.rows.judged("processor of agent and guard at rest", share.median(), "% of a core", 0.5, share.spread("%"))
	written := 0
	for object, version := range after {
		if before[object] != version {
			written++
			fmt.Printf("written at rest: %s\n", object)
		}
	}
	b.rows.judged("objects of a cluster at rest that were written", float64(written), "objects", 0,
		fmt.Sprintf("of %d in %.0f s, events included", len(after), took))
	return nil
}

// agentTicks is the processor time of agent and guard so far, in each pod.
func (b *bench) agentTicks(ctx context.Context, ns string) (used []float64, err error) {
	const script = `for p in /proc/[0-9]*; do read -r c 2>/dev/null <$p/comm && [ "$c" = dbop-agent ] && cat $p/stat; ` +
		`done; true`
	for i := range 3 {
		r, err := succeed(ctx, b.site.Kubectl(b.home), "-n", ns, "exec", fmt.Sprintf("db-%d-0", i+1), "--", "sh", "-c",
			script)
		if err != nil {
			return nil, err
		}
		sum := 0.0
		for line := range strings.Lines(r.Stdout) {
			fields := strings.Fields(line[strings.LastIndexByte(line, ')')+1:])
			if len(fields) < 13 {
				return nil, fmt.Errorf("read the processor time of the agent in %q", line)
			}
			for _, text := range fields[11:13] { // of the process, and of the system for it
				n, err := strconv.ParseFloat(text, 64)
				if err != nil {
					return nil, fmt.Errorf("read the processor time of the agent: %w", err)
				}
				sum += n
			}
		}
		used = append(used, sum)
	}
	return used, nil
}

// versions are those of all objects of a namespace that somebody could write for a cluster.
func (b *bench) versions(ctx context.Context, ns string) (map[string]string, error) {
	const kinds = "pods,services,endpointslices.discovery.k8s.io,configmaps,secrets,persistentvolumeclaims," +
		"statefulsets,poddisruptionbudgets,networkpolicies,leases,jobs,cronjobs,events"
	r, err := succeed(ctx, b.site.Kubectl(b.home), "-n", ns, "get", kinds, "-o",
		`jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.resourceVersion}{"\n"}{end}`)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for line := range strings.Lines(r.Stdout) {
		object, version, _ := strings.Cut(strings.TrimSpace(line), " ")
		all[object] = version
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("namespace %s is empty", ns)
	}
	return all, nil
}
