//go:build e2e

package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

const (
	// stalledFor is how long a disk answers no write: several leases.
	stalledFor = 30 * time.Second
	// fullFor is how long disks are full at least.
	fullFor = 30 * time.Second
	// mostTimelines is how many times a primary may be appointed meanwhile: there is no loop of failovers.
	mostTimelines = 2
	// small volumes are filled at once, and roomy ones hold what filled them.
	small, roomy = "512Mi", "1Gi"
)

// diskFaults befall volumes.
func diskFaults() []fault {
	return []fault{
		{name: "disk of the primary stalled", befall: primaryStalled},
		{name: "disk of a replica stalled", befall: func(x *struck) { x.stall(x.replicas()[0], x.taken) }},
		{name: "disk of the primary full", storage: small, befall: primaryFull},
		{name: "disks of all members full", storage: small, befall: allFull},
	}
}

// stall has the disk of a member answer no write for a while. What must hold meanwhile is asked early.
func (x *struck) stall(member string, hold func()) {
	x.Helper()
	volume, err := x.machine.Volume(x.ctx, x.ns, member)
	x.ok(err)
	x.began = time.Now()
	thaw, err := harness.Stall(x.ctx, volume)
	x.ok(err)
	x.Cleanup(thaw)
	hold()
	time.Sleep(time.Until(x.began.Add(stalledFor)))
	thaw()
}

// through is a client that writes by the agent of one member, and notes when its session ended.
const through = `cd /tmp; (n=0; while :; do n=$((n+1)); echo "INSERT INTO written VALUES (-$n);"; sleep 0.1; done |
psql -q -v ON_ERROR_STOP=1 "host=%s-0.db port=9743 sslmode=require $WAITS"; echo $? >ended) >/dev/null 2>&1 &
sleep 2`

// primaryStalled: a session through the agent of the primary, which can't end while its disk hangs, ends as others do.
func primaryStalled(x *struck) {
	x.besideWriter(fmt.Sprintf(through, x.first))
	if x.sql("SELECT count(*) > 5 FROM written WHERE n < 0") != "t" {
		x.Fatal("the session through the agent of the primary writes nothing")
	}
	x.stall(x.first, func() {
		x.failedOver()
		x.ok(harness.Until(x.ctx, time.Until(x.began.Add(stalledFor-time.Second)), "the session to end",
			func(context.Context) error {
				if x.besideWriter("cat /tmp/ended 2>&1; true") == "2" {
					return nil
				}
				return errors.New("it goes on")
			}))
		x.Logf("the session through the agent of the primary ended within %s", time.Since(x.began))
	})
}

// besideWriter runs a script in the pod of the writer.
func (x *struck) besideWriter(script string) string {
	x.Helper()
	r, err := x.site.Kubectl(x.TempDir()).Run(x.ctx, "-n", x.ns, "exec", "db-writer", "--", "sh", "-c", script)
	x.ok(err)
	if r.Code != 0 {
		x.Fatalf("expected success:\n%s", r)
	}
	return strings.TrimSpace(r.Stdout)
}

// primaryFull: the server of the primary ends for want of room, and another member leads. What filled the volume stays;
// a larger one brings the member back.
func primaryFull(x *struck) {
	defer x.full(x.first)()
	before := x.timeline()
	x.pushed(func() error {
		if r := x.try("status", "db"); !strings.Contains(r.Stdout, " primary ") || x.leader(r) == x.first {
			return fmt.Errorf("%s leads:\n%s", x.first, r.Stdout)
		}
		return nil
	})
	x.failedOver()
	time.Sleep(time.Until(x.began.Add(fullFor)))
	x.diagnosed("the disk of "+x.first, "resize db --storage")
	x.larger(before)
}

// allFull: nobody takes a row, and nobody is appointed again and again. Larger volumes bring all of them back.
func allFull(x *struck) {
	all := append(x.replicas(), x.first)
	defer x.full(all...)()
	before := x.timeline()
	x.pushed(func() error {
		if r := x.try("status", "db"); r.Code != 11 {
			return fmt.Errorf("it serves:\n%s", r.Stdout)
		}
		return nil
	})
	acks, err := x.w.Acks(x.ctx)
	x.ok(err)
	time.Sleep(time.Until(x.began.Add(fullFor)))
	now, err := x.w.Acks(x.ctx)
	x.ok(err)
	if len(now) > len(acks) {
		x.Errorf("%d rows were acknowledged without room", len(now)-len(acks))
	}
	for _, m := range all {
		x.says("the disk of member "+m, "resize db --storage")
		x.diagnosed("the disk of "+m, "resize db --storage")
	}
	x.larger(before)
}

// larger makes the volumes larger, and holds that rows go on and that nobody was appointed again and again.
func (x *struck) larger(timeline int64) {
	x.Helper()
	x.must("resize", "db", "--storage", roomy)
	x.w.goesOn("rows to go on once there is room")
	if now := x.timeline(); now > timeline+mostTimelines {
		x.Errorf("from timeline %d it came to %d", timeline, now)
	}
}

// full fills volumes again and again, since servers give room back when they fail, until the function that it returns
// is called, or the test ends. What filled them stays.
func (x *struck) full(members ...string) func() {
	x.Helper()
	var volumes []string
	for _, m := range members {
		volume, err := x.machine.Volume(x.ctx, x.ns, m)
		x.ok(err)
		volumes = append(volumes, volume)
	}
	ctx, cancel := context.WithTimeout(x.ctx, fullFor)
	var filling sync.WaitGroup
	filling.Go(func() {
		for ctx.Err() == nil {
			for _, v := range volumes {
				if err := harness.Fill(v); err != nil {
					x.Error(err)
				}
			}
			time.Sleep(200 * time.Millisecond)
		}
	})
	x.began = time.Now()
	return func() { cancel(); filling.Wait() }
}

// pushed writes log on the primary until something holds.
func (x *struck) pushed(holds func() error) {
	x.Helper()
	x.ok(harness.Until(x.ctx, time.Minute, "the disk to be used up", func(context.Context) error {
		r := x.try("connect", "db", "--", "-At", "-d", "app", "-c",
			"SELECT pg_logical_emit_message(false, 'full', repeat(md5(n::text), 100000)) FROM generate_series(1, 5) n")
		if err := holds(); err != nil {
			return fmt.Errorf("%w\nthe last answer: %s", err, r.Stderr)
		}
		return nil
	}))
}

// timeline is that of the primary.
func (x *struck) timeline() int64 {
	x.Helper()
	n, err := strconv.ParseInt(x.sql("SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)"), 16, 64)
	x.ok(err)
	return n
}

// leader is who leads, as status tells.
func (x *struck) leader(r harness.Result) string {
	for line := range strings.Lines(r.Stdout) {
		if f := strings.Fields(line); len(f) > 1 && f[1] == "primary" {
			return f[0]
		}
	}
	return ""
}

// diagnosed waits until diagnose says something.
func (x *struck) diagnosed(words ...string) {
	x.Helper()
	x.ok(harness.Until(x.ctx, 2*time.Minute, "diagnose to tell what is wrong", func(context.Context) error {
		r := x.try("diagnose", "db")
		for _, w := range words {
			if !strings.Contains(r.Stdout, w) {
				return fmt.Errorf("%q is missing:\n%s", w, r)
			}
		}
		return nil
	}))
}
