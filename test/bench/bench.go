package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

const (
	// measureWithin bounds one measure, clearWithin what it leaves behind.
	measureWithin = 15 * time.Minute
	// usualRepeats is for how many repeats that is enough.
	usualRepeats = 3
	// fleetWithin is for thousands of clusters, and time in which nothing happens, and for gigabytes of data.
	fleetWithin = 90 * time.Minute
	clearWithin = 3 * time.Minute
	// commandWithin bounds one command.
	commandWithin = 4 * time.Minute
)

// bench is one run.
type bench struct {
	settings
	site *harness.Site
	cli  harness.Command
	home string
	rows rows
}

// measure is a set of figures that are taken together.
type measure struct {
	name string
	// engine is that of the databases it measures.
	engine string
	take   func(ctx context.Context, b *bench) error
}

const (
	etcd = "etcd"
	// noEngine is for what needs no database.
	noEngine = "none"
)

// measures are all there are, in the order in which they run: first what
// needs a quiet machine and nothing else.
func measures() []measure {
	return []measure{
		{"start", noEngine, measureStart},
		{"size", noEngine, measureSize},
		{"create", etcd, measureCreate},
		{"scale", etcd, measureScale},
		{"upgrade", etcd, measureUpgrade},
		{"replace", etcd, measureReplace},
		{"requests", etcd, measureRequests},
		{"list", etcd, measureList},
		{"backup", etcd, measureBackup},
		{"restore", etcd, measureRestore},
		{"backup-job", etcd, measureBackupJob},
		{"restore-job", etcd, measureRestoreJob},
		{"stores", noEngine, measureStores},
		{"memory", noEngine, measureMemory},
		{"backup-list", noEngine, measureBackupList},
		{"postgres", "postgres", withTroubles(postgres)},
		{"valkey", "valkey", withTroubles(valkey)},
		{"sentinel-valkey", "valkey", measureSentinel},
		{"online-postgres", "postgres", measureOnline},
		{"proxy-postgres", "postgres", throughProxy(postgresClients)},
		{"proxy-valkey", "valkey", throughProxy(valkeyClients)},
		{"direct-postgres", "postgres", straight(postgresClients)},
		{"direct-valkey", "valkey", straight(valkeyClients)},
		{"backup-postgres", "postgres", measureBaseBackup},
		{"archive-postgres", "postgres", measureArchived},
		{"replay-postgres", "postgres", measureReplay},
		{"incremental-postgres", "postgres", measureIncremental},
		{"upgrade-postgres", "postgres", measureUpgradeMajor},
		{"backup-valkey", "valkey", measureDump},
		{"create-postgres", "postgres", creations(postgres)},
		{"create-valkey", "valkey", creations(valkey)},
		{"fleet", etcd, measureFleet},
	}
}

func names() []string {
	var out []string
	for _, m := range measures() {
		out = append(out, m.name)
	}
	return out
}

func newBench(set settings) (*bench, error) {
	site, err := harness.NewSite()
	if err != nil {
		return nil, err
	}
	home, err := os.MkdirTemp("", "dbop-bench-")
	if err != nil {
		return nil, fmt.Errorf("make a home: %w", err)
	}
	return &bench{settings: set, site: site, home: home, cli: site.CLI(home, nil)}, nil
}

// all takes the measures. One that fails does not keep the others from running.
func (b *bench) all(ctx context.Context) bool {
	defer func() { _ = os.RemoveAll(b.home) }()
	failed := false
	for _, m := range measures() {
		if b.only != "" && !strings.Contains(","+b.only+",", ","+m.name+",") {
			continue
		}
		fmt.Printf("== %s (load average %s)\n", m.name, load())
		bound := measureWithin * time.Duration((b.repeats+usualRepeats-1)/usualRepeats)
		if m.name == "fleet" || m.name == "upgrade-postgres" || m.name == "replay-postgres" {
			bound = fleetWithin
		}
		within, cancel := context.WithTimeout(ctx, bound)
		taken := len(b.rows)
		if err := m.take(within, b); err != nil {
			failed = true
			fmt.Fprintf(os.Stderr, "bench: %s: %v\n", m.name, err)
		}
		cancel()
		for i := range b.rows[taken:] {
			b.rows[taken+i].Engine = m.engine
		}
	}
	return failed
}

// inNamespace gives a measure a namespace of its own and takes it away again.
func (b *bench) inNamespace(ctx context.Context, take func(ns string) error) (err error) {
	ns, err := b.site.CreateNamespace(ctx, "bench")
	if err != nil {
		return err
	}
	defer func() {
		clearCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), clearWithin)
		defer cancel()
		err = errors.Join(err, b.site.DeleteNamespace(clearCtx, ns, clearWithin))
	}()
	return take(ns)
}

// dbop runs the tool and asks that it succeeds.
func (b *bench) dbop(ctx context.Context, args ...string) (harness.Result, error) {
	return succeed(ctx, b.cli, args...)
}

// kubectl is what the tool's own start and list are held against: kubectl
// alone, as it is released. The local cluster's is one large program with the
// whole of Kubernetes in it, which would flatter us.
func (b *bench) kubectl() harness.Command {
	c := b.site.Tool("kubectl", "")
	if path := os.Getenv("DBOP_BENCH_KUBECTL"); path != "" {
		c.Path = path
	}
	return c
}

// succeed runs a program and asks that it succeeds.
func succeed(ctx context.Context, c harness.Command, args ...string) (harness.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, commandWithin)
	defer cancel()
	r, err := c.Run(ctx, args...)
	if err != nil {
		return r, err
	}
	if r.Code != 0 {
		return r, fmt.Errorf("it failed: %s", r)
	}
	return r, nil
}

// load is the machine's load average over one minute.
func load() string {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(raw), " ")
	return first
}
