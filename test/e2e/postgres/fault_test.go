//go:build e2e

package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

const (
	// stoppedWithin is a lease and what it takes to notice that it is over.
	stoppedWithin = 12 * time.Second
	// readsWithin is the time after which the last member reads on its own.
	readsWithin = 30 * time.Second
	// faultWithin bounds one fault with all that mends it.
	faultWithin = 15 * time.Minute
)

// fault is what befalls pods, processes, nodes and disks of a cluster of three.
type fault struct {
	name string
	// voters are how many members the node of the primary has; 0 if it does not matter.
	voters int
	// storage is the size of the volumes.
	storage string
	befall  func(*struck)
}

// struck is a scene that a fault befalls.
type struck struct {
	*scene
	w       *writer
	machine *harness.Machine
	// node is that of the primary first, other is another one.
	node, other, first string
	began              time.Time
}

// TestFaults takes away pods, processes, nodes and disks of a cluster while a client writes: it loses no row that was
// acknowledged, and is healthy in the end. Some of it disturbs every cluster there is, so nothing may run beside it.
func TestFaults(t *testing.T) {
	if !torture.Full() {
		t.Skip("make torture ENGINE=postgres runs it")
	}
	results := &torture.Ledger{}
	t.Cleanup(func() { results.Write(t) })
	for _, f := range append(append(podFaults(), nodeFaults()...), diskFaults()...) {
		t.Run(strings.NewReplacer(" ", "-", ",", "").Replace(f.name), func(t *testing.T) { f.strikes(t, results) })
	}
}

// strikes is one fault from the creation of a cluster to the comparison of its rows.
func (f fault) strikes(t *testing.T, results *torture.Ledger) {
	t.Helper()
	s := newScene(t, "fault")
	s.lasts(faultWithin)
	machine, err := s.site.Machine()
	if errors.Is(err, harness.ErrNoMachine) {
		t.Skip(err)
	}
	s.ok(err)
	row := torture.Row{Verb: "PostgreSQL: faults", Where: f.name, Result: "FAILED", Runs: 1, Gap: -1}
	defer func() { results.Add(row) }()
	release := s.releases(17)[0]
	var more []string
	if f.storage != "" {
		more = []string{"--storage", f.storage}
	}
	s.create(release, "3", more...)
	s.healthy(3)
	node, other := s.shared.Leads(f.voters)
	w := s.writeFrom(other, release)
	s.sql("CREATE TABLE lonely (n bigint)")
	x := &struck{scene: s, w: w, machine: machine, node: node, other: other, first: s.primary(), began: time.Now()}
	f.befall(x)
	s.healthy(3)
	w.goesOn("clients write after: " + f.name)
	row.Gap = w.gap(x.began)
	w.enough()
	w.check()
	if !s.Failed() {
		row.Result = "ok"
	}
}

// podFaults befall pods and the processes in them.
func podFaults() []fault {
	return []fault{
		{name: "pod of the primary deleted", befall: func(x *struck) { x.shared.Kill(x.first, false); x.taken() }},
		{name: "pod of the primary deleted by force", befall: func(x *struck) { x.shared.Kill(x.first, true); x.taken() }},
		{name: "server of the primary killed", befall: func(x *struck) { x.endProcess(x.first, "postgres"); x.taken() }},
		{name: "agent of the primary killed", befall: func(x *struck) { x.endProcess(x.first, "dbop-agent"); x.taken() }},
		{name: "guard of the primary killed", befall: guardKilled},
		{name: "both replicas away and back", befall: replicasAway},
		{name: "both replicas lost for good", befall: replicasLost},
		{name: "all members lost at once", befall: func(x *struck) {
			for _, m := range append(x.replicas(), x.first) {
				x.shared.Kill(m, true)
			}
			x.w.goesOn("clients write once all members are back")
		}},
	}
}

// taken holds that rows go on soon.
func (x *struck) taken() {
	x.Helper()
	x.w.goesOn("rows to go on")
	if gap := x.w.gap(x.began); gap > takenWithin {
		x.Errorf("no row was acknowledged for %s", gap)
	}
}

// failedOver holds that another member leads, too.
func (x *struck) failedOver() {
	x.Helper()
	x.taken()
	if now := x.primary(); now == x.first {
		x.Errorf("%s is still the primary", now)
	}
}

// guardKilled kills the first process, and so all in the container, for longer than a lease.
func guardKilled(x *struck) {
	kill, err := x.machine.Killer(x.ctx, x.ns, x.first)
	x.ok(err)
	x.shared.KillFor(kill, deadFor)
	x.failedOver()
}

// replicas are the members besides the first primary.
func (x *struck) replicas() (names []string) {
	x.Helper()
	for _, p := range x.shared.Members() {
		if name := strings.TrimSuffix(p.Name, "-0"); name != x.first {
			names = append(names, name)
		}
	}
	return names
}

// alone holds of the first primary without its replicas that within a lease it takes no row, not even of a client in
// its own pod, and that status says what to type. Reads go on there.
func (x *struck) alone() {
	x.Helper()
	gone := time.Now()
	x.shared.Down()
	x.says("recover")
	time.Sleep(time.Until(gone.Add(stoppedWithin)))
	x.refuses(x.first)
	x.ok(harness.Until(x.ctx, readsWithin, "reads at "+x.first, func(context.Context) error {
		if out := x.asked(x.first, "SELECT count(*) > 0 FROM written"); out != "t" {
			return errors.New(out)
		}
		return nil
	}))
	x.refuses(x.first)
}

// replicasAway: the primary that is left takes no row, and rows go on once the others are back.
func replicasAway(x *struck) {
	away := x.replicas()
	for _, m := range away {
		x.shared.Size(m, 0)
	}
	x.alone()
	for _, m := range away {
		x.shared.Size(m, 1)
	}
	x.w.goesOn("rows to go on once the replicas are back")
}

// replicasLost: the volumes of the replicas are gone for good. A person begins again from the one that is left, which
// holds all that was acknowledged.
func replicasLost(x *struck) {
	for _, m := range x.replicas() {
		x.kubectl("delete", "pvc", m, "--wait=false")
		x.shared.Kill(m, true)
	}
	x.alone()
	x.must("recover", "db", "--confirm", "db", "--repository", x.TempDir())
}

// asked runs a statement by the socket of a member's server, and returns what it answers or why nobody does.
func (x *struck) asked(member, statement string) string {
	x.Helper()
	return x.inside(member, `timeout 5 psql -AtX -h /run/dbop/sockets -U dbop -d app -c "`+statement+`" 2>&1; true`)
}

// refuses holds that a member's server acknowledges no row, not even to a client in its own pod.
func (x *struck) refuses(member string) {
	x.Helper()
	if out := x.asked(member, "INSERT INTO lonely VALUES (1)"); strings.Contains(out, "INSERT 0 1") {
		x.Errorf("%s takes a row: %s", member, out)
	} else {
		x.Logf("a row is answered: %s", out)
	}
}
