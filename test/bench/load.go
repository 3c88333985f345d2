package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

const (
	perSecond = 200
	// calm is how long the writer runs alone: its longest gap then is the noise of the machine.
	calm = 10 * time.Second
	// tail of writing after a command, so that a late effect is seen too.
	tail = 2 * time.Second
	// untouched is how long nobody asks a cluster for its state after a trouble: a question costs the machine as much
	// as what is measured.
	untouched = 10 * time.Second
)

// underLoad is what came of one command under writes.
type underLoad struct {
	took, gap, idle time.Duration
	counts          harness.Counts
}

// loaded runs a command while a client writes, and measures the gap of the
// same client before it.
func (b *bench) loaded(ctx context.Context, ns, cluster string, members int, args ...string) (u underLoad, err error) {
	db, err := b.site.DialEtcd(ctx, ns, cluster)
	if err != nil {
		return u, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	w := harness.StartWriter(ctx, db, fmt.Sprintf("bench/%d/", time.Now().UnixNano()), perSecond)
	defer func() { u.counts = w.Stop() }()
	// The first second connects.
	if err := pause(ctx, time.Second); err != nil {
		return u, err
	}
	quiet := time.Now()
	if err := pause(ctx, calm); err != nil {
		return u, err
	}
	began := time.Now()
	u.idle = w.LongestGap(quiet, began)
	if _, err := b.dbop(ctx, append(args, "-n", ns)...); err != nil {
		return u, err
	}
	if err := b.voters(ns, cluster).healthy(ctx, members); err != nil {
		return u, err
	}
	u.took = time.Since(began)
	if err := pause(ctx, tail); err != nil {
		return u, err
	}
	u.gap = w.LongestGap(began, time.Now())
	return u, nil
}

// pause is a span in which a client is watched, not a wait for a condition.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// loads collects several runs under writes.
type loads struct {
	took, gap, idle samples
	unknown, lost   int
}

func (l *loads) add(u underLoad) {
	l.took.took(u.took)
	l.gap = append(l.gap, float64(u.gap.Milliseconds()))
	l.idle = append(l.idle, float64(u.idle.Milliseconds()))
	l.unknown += u.counts.Unknown
	l.lost += u.counts.Lost
	fmt.Printf("%.1f s, longest gap %d ms (without an operation %d ms), %d tries repeated, %d writes lost\n",
		u.took.Seconds(), u.gap.Milliseconds(), u.idle.Milliseconds(), u.counts.Unknown, u.counts.Lost)
}

// gaps tells what a gap is held against: the same writer without an operation.
func (l *loads) gaps() string {
	return fmt.Sprintf("all: %s; %d s without an operation: %s; tries repeated: %d", l.gap.spread("ms"),
		int(calm.Seconds()), l.idle.spread("ms"), l.unknown)
}

// measureScale grows a cluster from three to five members, several times.
func measureScale(ctx context.Context, b *bench) error {
	return b.inNamespace(ctx, func(ns string) error {
		if _, err := b.dbop(ctx, "create", "grow", "--engine", "etcd", "--members", "3", "-n", ns); err != nil {
			return err
		}
		var up, down loads
		for range b.repeats {
			u, err := b.loaded(ctx, ns, "grow", 5, "scale", "grow", "--members", "5")
			if err != nil {
				return err
			}
			up.add(u)
			if u, err = b.loaded(ctx, ns, "grow", 3, "scale", "grow", "--members", "3", "--yes"); err != nil {
				return err
			}
			down.add(u)
		}
		b.rows.judged("scale 3 to 5 under 200 writes/s", up.took.median(), "s", 12, up.took.spread("s"))
		b.rows.judged("longest write gap of scale 3 to 5, median", up.gap.median(), "ms", 200, up.gaps())
		b.rows.plain("scale 5 to 3 under 200 writes/s", down.took.median(), "s", down.took.spread("s"))
		b.rows.plain("longest write gap of scale 5 to 3, median", down.gap.median(), "ms", down.gaps())
		b.rows.judged("writes lost while scaling", float64(up.lost+down.lost), "writes", 0, "after client retry")
		return nil
	})
}

// measureUpgrade takes three members from one minor version to the next.
func measureUpgrade(ctx context.Context, b *bench) error {
	return b.inNamespace(ctx, func(ns string) error {
		var all loads
		for i := range b.repeats {
			name := fmt.Sprintf("up-%d", i)
			if _, err := b.dbop(ctx, "create", name, "--engine", "etcd", "--version", "3.5", "--members", "3", "-n",
				ns); err != nil {
				return err
			}
			u, err := b.loaded(ctx, ns, name, 3, "upgrade", name, "--version", "3.6")
			if err != nil {
				return err
			}
			all.add(u)
			if err := b.deleteOurs(ctx, ns, name); err != nil {
				return err
			}
		}
		b.rows.judged("longest write gap of an upgrade of 3 members from 3.5 to 3.6, median", all.gap.median(), "ms", 2000,
			all.gaps())
		b.rows.judged("writes lost while upgrading", float64(all.lost), "writes", 0, "after client retry")
		b.rows.plain("upgrade 3 members from 3.5 to 3.6 under 200 writes/s", all.took.median(), "s", all.took.spread("s"))
		return nil
	})
}
