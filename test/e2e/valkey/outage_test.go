//go:build e2e

package valkey

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/scene"
	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

const (
	// cutFor is how long a node is off the network: several leases.
	cutFor = 30 * time.Second
	// awayFor is how long there is no control plane; the primary dies after a third of that.
	awayFor = 75 * time.Second
	// deadFor is how long a primary is killed whenever it is back: longer than its lease.
	deadFor = 20 * time.Second
	// takenWithin is the longest time without a write when a primary is lost.
	takenWithin = 30 * time.Second
	// stoppedWithin is a lease and what it takes to notice.
	stoppedWithin = 12 * time.Second
)

// outage is what befalls a cluster of three under a client that writes.
type outage struct {
	name string
	// voters are how many members the node of the primary has; 0 if it does not matter.
	voters int
	befall func(*fault)
}

// fault is one outage at work.
type fault struct {
	*scene.Scene

	writer  *scene.Writer
	machine *harness.Machine
	node    string
	began   time.Time
	first   string
}

// TestOutages takes away processes, pods, volumes, room and memory of members, nodes and the control plane. A client
// keeps each write that a replica confirmed; at the end all of them are there. Some outages disturb every cluster
// there is, so nothing may run at the same time.
func TestOutages(t *testing.T) {
	if !torture.Full() {
		t.Skip("make torture ENGINE=valkey runs it")
	}
	results := &torture.Ledger{}
	t.Cleanup(func() { results.Write(t) })
	for _, o := range []outage{
		{"pod of the primary deleted", 0, func(f *fault) { f.Kill(f.first, false); f.taken() }},
		{"pod of the primary deleted by force", 0, func(f *fault) { f.Kill(f.first, true); f.taken() }},
		{"server of the primary killed", 0, func(f *fault) { f.die("valkey-server"); f.taken() }},
		{"agent of the primary killed", 0, func(f *fault) { f.die("dbop-agent"); f.taken() }},
		{"guard of the primary killed", 0, guardKilled},
		{"both replicas lost", 0, replicasLost},
		{"all members lost at once", 0, allLost},
		{"all members stopped, back in every order", 0, everyOrder},
		{"volume of the primary emptied", 0, func(f *fault) { f.emptied(f.first) }},
		{"volume of a replica emptied", 0, func(f *fault) { f.emptied(f.Member("replica")) }},
		{"data of the primary damaged", 0, damaged},
		{"disk of the primary full", 0, diskFull},
		{"memory of the server used up", 0, memoryFull},
		{"container of the primary out of memory", 0, outOfMemory},
		{"a replica copies everything again under load", 0, copiedAgain},
		{"node of the primary cut off, one voter on it", 1, aloneCut},
		{"node of the primary cut off, two voters on it", 2, majorityCut},
		{"majority cut off without the primary", 1, minorityLeft},
		{"control plane away, primary killed meanwhile", 0, controlAway},
	} {
		t.Run(strings.NewReplacer(" ", "-", ",", "").Replace(o.name), func(t *testing.T) {
			s := scene.New(t, "outage")
			machine, err := s.Site.Machine()
			if errors.Is(err, harness.ErrNoMachine) {
				t.Skip(err)
			}
			s.OK(err)
			row := torture.Row{Verb: "Valkey: outages", Where: o.name, Result: "FAILED", Runs: 1, Gap: -1}
			defer func() { results.Add(row) }()
			r := release(s, "valkey", 8)
			create(s, "valkey", r, "3", "--config", "durability=strict", "--memory", "384Mi")
			node, other := s.Leads(o.voters)
			w := s.Writes(s.Site.StartValkeyWriter(s.Ctx, s.NS, "db", "valkey", r.Image, other))
			f := &fault{Scene: s, writer: w, machine: machine, node: node, began: time.Now(), first: s.Member("primary")}
			o.befall(f)
			s.Healthy(3)
			w.MustGoOn(o.name, f.began)
			row.Gap = f.gap(f.began)
			f.enough()
			w.Check(func() []string { return command(s, "SMEMBERS", "written") })
			if !s.Failed() {
				row.Result = "ok"
			}
		})
	}
}

// enough waits until so many writes were acknowledged that they show something: on a busy machine few are in a minute.
func (f *fault) enough() {
	f.Helper()
	f.OK(harness.Until(f.Ctx, 2*time.Minute, "enough writes", func(ctx context.Context) error {
		acks, err := f.writer.Acks(ctx)
		if err == nil && len(acks) < 20 {
			err = fmt.Errorf("%d writes were acknowledged", len(acks))
		}
		return err
	}))
}

// gap is the longest time without an acknowledged write since a moment.
func (f *fault) gap(since time.Time) time.Duration {
	f.Helper()
	gap, err := f.writer.LongestGap(f.Ctx, since, time.Now())
	f.OK(err)
	return gap
}

// taken holds that writes go on soon.
func (f *fault) taken() {
	f.Helper()
	f.OK(f.writer.GoesOn(f.Ctx, "writes to go on"))
	if gap := f.gap(f.began); gap > takenWithin {
		f.Errorf("no write was acknowledged for %s", gap)
	}
}

// failedOver holds that another member leads, too.
func (f *fault) failedOver() {
	f.Helper()
	f.taken()
	if now := f.Member("primary"); now == f.first {
		f.Errorf("%s is still the primary", now)
	}
}

// die kills every process of a name in the container of the primary, but for the guard.
func (f *fault) die(name string) {
	f.Helper()
	f.Inside(f.first, server, `for p in /proc/[0-9]*; do read -r c 2>/dev/null <$p/comm && [ "$c" = `+name+` ] && `+
		`[ $p != /proc/1 ] && kill -9 ${p#/proc/}; done; true`)
}

func guardKilled(f *fault) {
	kill, err := f.machine.Killer(f.Ctx, f.NS, f.first)
	f.OK(err)
	f.KillFor(kill, deadFor)
	f.failedOver()
}

// aloneCut: the others have a new primary while the old one is cut off.
func aloneCut(f *fault) {
	f.Cut(f.machine, f.node)
	f.failedOver()
	time.Sleep(time.Until(f.began.Add(cutFor)))
	f.Connected(f.machine, f.node)
}

// majorityCut: the primary is cut off together with a majority, and from the client. The one that is left does not
// lead, and status says what can be done.
func majorityCut(f *fault) {
	f.Cut(f.machine, f.node)
	f.Down()
	f.says("recover")
	time.Sleep(time.Until(f.began.Add(cutFor)))
	f.Connected(f.machine, f.node)
	f.OK(f.writer.GoesOn(f.Ctx, "writes to go on once the majority is back"))
	if gap := f.gap(f.began); gap > cutFor+takenWithin {
		f.Errorf("no write was acknowledged for %s", gap)
	}
}

// minorityLeft: a majority is cut off, and the primary is not with it. Within a lease it takes no write, for a client
// beside it too.
func minorityLeft(f *fault) {
	for _, p := range f.Members() {
		if p.Spec.NodeName != f.node {
			f.Cut(f.machine, p.Spec.NodeName)
			f.node = p.Spec.NodeName
			break
		}
	}
	time.Sleep(time.Until(f.began.Add(stoppedWithin)))
	f.refuses(f.first)
	f.Down()
	time.Sleep(time.Until(f.began.Add(cutFor)))
	f.Connected(f.machine, f.node)
	f.OK(f.writer.GoesOn(f.Ctx, "writes to go on once the majority is back"))
}

// controlAway: while there is no API server the primary dies, and another member leads.
func controlAway(f *fault) {
	kill, err := f.machine.Killer(f.Ctx, f.NS, f.first)
	f.OK(err)
	away := make(chan error, 1)
	go func() {
		away <- f.machine.Cluster(f.Ctx, "component", "restart", "kube-apiserver", "--away", awayFor.String())
	}()
	time.Sleep(awayFor / 3)
	f.KillFor(kill, deadFor)
	f.OK(<-away)
	f.failedOver()
	acks, err := f.writer.Acks(f.Ctx)
	f.OK(err)
	seen := false
	for _, a := range acks {
		seen = seen || a.At.After(f.began.Add(awayFor/3+deadFor)) && a.At.Before(f.began.Add(awayFor))
	}
	if !seen {
		f.Error("no write was acknowledged without a control plane")
	}
}

// says waits until status says something.
func (f *fault) says(words string) {
	f.Helper()
	f.OK(harness.Until(f.Ctx, time.Minute, "status to say "+words, func(context.Context) error {
		if r := f.Try("status", "db"); !strings.Contains(r.Stdout+r.Stderr, words) {
			return errors.New(r.String())
		}
		return nil
	}))
}

// refuses holds that the server of a member takes no write of a client in its own pod: it is gone, or a replica.
func (f *fault) refuses(member string) {
	f.Helper()
	out := f.asked(member, "SET", "lonely", "1")
	if strings.Contains(out, "OK") {
		f.Errorf("%s takes a write: %s", member, out)
	}
}
