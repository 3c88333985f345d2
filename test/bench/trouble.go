package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// Troubles and commands of which the write gap is measured.
const (
	serverKilled   = "the server of the primary is killed"
	agentKilled    = "the agent of the primary is killed"
	podDeleted     = "the pod of the primary is deleted"
	podLost        = "the pod of the primary is deleted by force"
	switchedOver   = "a switchover"
	switchedDirect = "a switchover with --routing direct"
	upgraded       = "an upgrade of 3 members"
	nodeCut        = "the node of the primary is cut off"
)

// troubles are all, in the order in which they are made: there is no way back from the last.
func troubles() []string {
	return []string{switchedOver, serverKilled, agentKilled, podDeleted, podLost, nodeCut, switchedDirect, upgraded}
}

// gaps makes each trouble several times.
func (b *bench) gaps(ctx context.Context, e agreed, ns string, w *harness.PodWriter, alone place) error {
	quiet := time.Now()
	if err := pause(ctx, calm); err != nil {
		return err
	}
	idle, err := w.LongestGap(ctx, quiet, time.Now())
	if err != nil {
		return err
	}
	for _, trouble := range troubles() {
		times, began := b.repeats, time.Now()
		switch {
		case b.troubles != "" && !slices.Contains(strings.Split(b.troubles, ","), trouble):
			continue
		case trouble == nodeCut && alone.node == "":
			fmt.Println("no node can be cut off that has one of the members")
			continue
		case trouble == switchedDirect && e.bars[trouble] == 0:
			continue
		case trouble == upgraded:
			times = 1
		}
		if err := b.route(ctx, ns, trouble, "direct"); err != nil {
			return err
		}
		var longest samples
		for range times {
			gap, err := b.gap(ctx, e, ns, w, trouble, alone)
			if err != nil {
				return fmt.Errorf("%s: %w", trouble, err)
			}
			longest.took(gap)
			fmt.Printf("%s: no write for %.2f s\n", trouble, gap.Seconds())
		}
		if trouble == switchedOver && e.complains {
			failed, err := w.Unconnected(ctx, began, time.Now())
			if err != nil {
				return err
			}
			for _, why := range failed {
				fmt.Println(trouble+": no connection:", why)
			}
			b.rows.judged("new connections that failed, in all switchovers", float64(len(failed)), "connections", 0,
				fmt.Sprintf("%d switchovers; a new connection every 50 ms or so", times))
		}
		if err := b.route(ctx, ns, trouble, "proxied"); err != nil {
			return err
		}
		measure, baseline := "longest write gap: "+trouble+", median", fmt.Sprintf("%s; %d s without trouble: %.2f s",
			longest.spread("s"), int(calm.Seconds()), idle.Seconds())
		if bar := e.bars[trouble]; bar > 0 {
			b.rows.judged(measure, longest.median(), "s", bar, baseline)
		} else {
			b.rows.plain(measure, longest.median(), "s", baseline)
		}
	}
	return nil
}

// gap makes one trouble, and waits until all members are well again.
func (b *bench) gap(ctx context.Context, e agreed, ns string, w *harness.PodWriter,
	trouble string, alone place) (time.Duration, error) {
	primary, err := b.primary(ctx, ns)
	if err == nil && trouble == nodeCut && primary != alone.member {
		if _, err = b.dbop(ctx, "switchover", "db", "--to", alone.member, "-n", ns); err == nil {
			err = b.settled(ctx, ns)
		}
	}
	if err != nil {
		return 0, err
	}
	began := time.Now()
	switch trouble {
	case nodeCut:
		err = b.cut(ctx, alone.node, w)
	case switchedOver, switchedDirect:
		_, err = b.dbop(ctx, "switchover", "db", "-n", ns)
	case upgraded:
		_, err = b.dbop(ctx, "upgrade", "db", "--version", e.to.Version, "--image", e.to.Image, "--skip-backup", "-n", ns)
	case serverKilled:
		err = b.killProcess(ctx, ns, primary, e.server)
	case agentKilled:
		err = b.killProcess(ctx, ns, primary, "dbop-agent")
	default:
		var o metav1.DeleteOptions
		if trouble == podLost {
			o.GracePeriodSeconds = new(int64(0))
		}
		err = b.site.Client.CoreV1().Pods(ns).Delete(ctx, primary+"-0", o)
	}
	if err != nil {
		return 0, err
	}
	if err := pause(ctx, untouched); err != nil {
		return 0, err
	}
	if err := b.settled(ctx, ns); err != nil {
		return 0, err
	}
	if err := w.GoesOn(ctx, "writes after "+trouble); err != nil {
		return 0, err
	}
	if err := pause(ctx, tail); err != nil {
		return 0, err
	}
	return w.LongestGap(ctx, began, time.Now())
}

// route leads clients another way, for the trouble that is about it.
func (b *bench) route(ctx context.Context, ns, trouble, way string) error {
	if trouble != switchedDirect {
		return nil
	}
	if _, err := b.dbop(ctx, "configure", "db", "--routing", way, "-n", ns); err != nil {
		return err
	}
	return b.settled(ctx, ns)
}
