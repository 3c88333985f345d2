package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/bench/fleet"
)

// sizing is what one number of clusters showed of an operator.
type sizing struct {
	clusters int
	// created is how long it took until all were ready, with that many requests each.
	created            time.Duration
	requests, renewals float64
	// cold is how long an operator that starts takes to read each once.
	cold, coldCPU  time.Duration
	coldRequests   float64
	resident, most float64
	// grown is the memory after creating all, and the most until then.
	grown, grownMost float64
	// idle is over that long.
	idle, idleCPU time.Duration
	idleWrites    int
	idleRequests  float64
	edits         samples
}

// measureFleet has the operator manage ever more clusters.
func measureFleet(ctx context.Context, b *bench) error {
	var all []*sizing
	for text := range strings.SplitSeq(b.clusters, ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("read --clusters: %w", err)
		}
		s := &sizing{clusters: n}
		if err := b.fleet(ctx, s); err != nil {
			return fmt.Errorf("%d clusters: %w", n, err)
		}
		all = append(all, s)
	}
	b.rows.fleet(all)
	return nil
}

// fleet measures one number of clusters, on an API server of its own. Its
// directory stays if that fails, or if nothing but creating was to be measured.
func (b *bench) fleet(ctx context.Context, s *sizing) (err error) {
	dir := b.fleetDir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "dbop-fleet-"); err != nil {
			return fmt.Errorf("make a directory: %w", err)
		}
	}
	defer func() {
		if err == nil && b.idleFor > 0 {
			err = os.RemoveAll(dir)
		}
	}()
	fmt.Printf("-- %d clusters (load average %s), in %s\n", s.clusters, load(), dir)
	plane, err := fleet.Start(ctx, dir, filepath.Join(b.site.Tools, "components"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plane.Stop()) }()
	if err := plane.Install(ctx); err != nil {
		return err
	}
	nodes, err := fleet.Populate(ctx, plane.Client)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, nodes.Stop()) }()
	clusters, err := plane.Watch(ctx)
	if err != nil {
		return err
	}
	defer clusters.Close()
	if b.fleetDir != "" {
		if err := nodes.Settle(ctx, 3*s.clusters); err != nil {
			return err
		}
	} else if err := b.founding(ctx, s, plane, clusters); err != nil {
		return err
	}
	if b.idleFor == 0 {
		return nil
	}
	return b.standing(ctx, s, plane, clusters)
}

// founding creates all at once.
func (b *bench) founding(ctx context.Context, s *sizing, plane *fleet.Plane, clusters *fleet.Clusters) error {
	o, err := plane.Operate(b.site.Bin)
	if err != nil {
		return err
	}
	return errors.Join(func() error {
		if err := seen(ctx, o, 0); err != nil {
			return err
		}
		audit, err := plane.Audit()
		if err != nil {
			return err
		}
		began := time.Now()
		if err := clusters.Create(ctx, s.clusters); err != nil {
			return err
		}
		s.created = time.Since(began)
		requests, err := audit.Take()
		if err != nil {
			return err
		}
		s.requests = per(requests.Total(fleet.Any), s.clusters)
		s.renewals = per(requests.Leases(), s.clusters)
		cpu, err := o.CPU()
		if err != nil {
			return err
		}
		s.grown, s.grownMost, err = o.Resident()
		fmt.Printf("   created in %.1f s, %.1f s of processor time; %.1f MB resident, %.1f at most; requests: %s\n",
			s.created.Seconds(), cpu.Seconds(), s.grown, s.grownMost, requests)
		return err
	}(), o.Stop())
}

// standing starts an operator over clusters that are well, leaves it alone,
// and edits some.
func (b *bench) standing(ctx context.Context, s *sizing, plane *fleet.Plane, clusters *fleet.Clusters) error {
	audit, err := plane.Audit()
	if err != nil {
		return err
	}
	o, err := plane.Operate(b.site.Bin)
	if err != nil {
		return err
	}
	return errors.Join(func() error {
		if err := b.start(ctx, s, o, audit); err != nil {
			return err
		}
		if err := b.idle(ctx, s, o, audit); err != nil {
			return err
		}
		edits := min(b.edits, s.clusters)
		fresh := int(time.Now().Unix() % 100000) // an earlier run may have edited them too
		for i := range edits {
			took, err := clusters.Edit(ctx, fleet.Name(i*s.clusters/edits), strconv.Itoa(10000+fresh+i))
			if err != nil {
				return err
			}
			s.edits.took(took)
		}
		fmt.Println("   edits:", s.edits.spread("s"))
		return nil
	}(), o.Stop())
}

func (*bench) start(ctx context.Context, s *sizing, o *fleet.Operator, audit *fleet.Log) error {
	if err := seen(ctx, o, s.clusters); err != nil {
		return err
	}
	s.cold = time.Since(o.Began)
	var err error
	if s.coldCPU, err = o.CPU(); err != nil {
		return err
	}
	requests, err := audit.Take()
	s.coldRequests = per(requests.Total(fleet.Any), s.clusters)
	fmt.Printf("   all observed %.1f s after the start, %.1f s of processor time; requests: %s\n", s.cold.Seconds(),
		s.coldCPU.Seconds(), requests)
	return err
}

// many is from how many clusters on the time in which nothing happens is long
// enough for a round of observations. With fewer, only writes and memory are told.
const (
	many  = 1000
	short = 30 * time.Second
)

func (b *bench) quiet(s *sizing) time.Duration {
	if s.clusters < many {
		return min(b.idleFor, short)
	}
	return b.idleFor
}

// idle leaves the operator alone for some time.
func (b *bench) idle(ctx context.Context, s *sizing, o *fleet.Operator, audit *fleet.Log) error {
	from, err := o.CPU()
	if err != nil {
		return err
	}
	began := time.Now()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(b.quiet(s)):
	}
	s.idle = time.Since(began)
	until, err := o.CPU()
	if err != nil {
		return err
	}
	s.idleCPU = until - from
	requests, err := audit.Take()
	if err != nil {
		return err
	}
	s.idleWrites, s.idleRequests = requests.Total(fleet.Write), float64(requests.Total(fleet.Any))/s.idle.Minutes()
	s.resident, s.most, err = o.Resident()
	fmt.Printf("   idle for %.0f s: %.1f s of processor time, %d writes; %.1f MB resident, %.1f at most; requests: %s\n",
		s.idle.Seconds(), s.idleCPU.Seconds(), s.idleWrites, s.resident, s.most, requests)
	return err
}

// seen waits until the operator has observed n clusters.
func seen(ctx context.Context, o *fleet.Operator, n int) error {
	for {
		have, err := o.Seen(ctx)
		if err == nil && have >= n {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("wait for the operator to observe %d clusters, it has at %d: %w", n, have,
				context.Cause(ctx)), err)
		case <-time.After(250 * time.Millisecond):
		}
	}
}

func per(n, clusters int) float64 { return float64(n) / float64(clusters) }

// fleet adds the figures. Bars are for 1,000 clusters.
func (r *rows) fleet(all []*sizing) {
	for i, s := range all {
		name := fmt.Sprintf("%d clusters: ", s.clusters)
		judged := func(measure string, value float64, unit string, bar float64, baseline string) {
			if s.clusters != 1000 {
				r.plain(name+measure, value, unit, baseline)
				return
			}
			r.judged(name+measure, value, unit, bar, baseline)
		}
		if s.idle > 0 {
			s.standing(judged)
		}
		if s.created == 0 {
			continue
		}
		r.plain(name+"created at once until all are ready", s.created.Seconds(), "s",
			"3 members with TLS each, pods start at once")
		r.plain(name+"resident memory of the operator that created them at once", s.grown, "MB",
			fmt.Sprintf("at most %.1f MB until then", s.grownMost))
		r.plain(name+"requests of the operator until ready, leases aside", s.requests, "requests each",
			fmt.Sprintf("and %.1f for leases", s.renewals))
		if i == 0 {
			continue
		}
		first := all[0]
		judged(fmt.Sprintf("created at once ÷ %d at once, time", first.clusters),
			s.created.Seconds()/first.created.Seconds(),
			"ratio", 12,
			fmt.Sprintf("%.1f s ÷ %.1f s", s.created.Seconds(), first.created.Seconds()))
		r.plain(fmt.Sprintf("%srequests each ÷ those of %d at once", name, first.clusters), s.requests/first.requests,
			"ratio", fmt.Sprintf("%.1f ÷ %.1f", s.requests, first.requests))
	}
}

// standing adds what an operator of clusters that are well showed.
func (s *sizing) standing(judged func(measure string, value float64, unit string, bar float64, baseline string)) {
	judged("API writes of an idle operator, leases aside", float64(s.idleWrites)/s.idle.Minutes(), "writes/min", 0,
		fmt.Sprintf("over %.0f s; %.0f requests/min in all", s.idle.Seconds(), s.idleRequests))
	judged("resident memory of an idle operator", s.resident, "MB", 100,
		fmt.Sprintf("at most %.1f MB since its start", s.most))
	if s.clusters >= many {
		judged("processor of an idle operator", 100*s.idleCPU.Seconds()/s.idle.Seconds(), "% of a core", 2,
			fmt.Sprintf("over %.0f s; %.0f requests/min", s.idle.Seconds(), s.idleRequests))
	}
	judged("start of the operator until it has observed each", s.cold.Seconds(), "s", 30,
		fmt.Sprintf("%.1f s of its own processor time; %.1f requests each", s.coldCPU.Seconds(), s.coldRequests))
	if len(s.edits) > 0 {
		judged("one edit to the first step written down, median", s.edits.median(), "s", 1, s.edits.spread("s"))
		judged("one edit to the first step written down, p99", s.edits.quantile(0.99), "s", 3, s.edits.spread("s"))
	}
}
