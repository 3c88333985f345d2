//go:build e2e

package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

const (
	// cutFor is how long a node is off the network: several leases.
	cutFor = 40 * time.Second
	// awayFor is how long there is no control plane; the primary dies after a third of that.
	awayFor = 10 * time.Minute
	// deadFor is how long a primary is killed whenever it is back: longer than its lease.
	deadFor = 20 * time.Second
	// takenWithin is the longest time without a row when a primary is lost.
	takenWithin = 30 * time.Second
	// readWithin bounds what reads the writer's log once the control plane is back.
	readWithin = 2 * time.Minute
)

// sessions are of two clients on the server of the pod itself, so that no network ends them: one that writes all the
// time and keeps what was acknowledged, and one that is idle until long after the outage.
const sessions = `cd /dev/shm; d="psql -qAtX -v ON_ERROR_STOP=1 -h /run/dbop/sockets -U dbop -d app"
(n=0; while :; do n=$((n+1)); echo "INSERT INTO busy VALUES ($n) RETURNING n;"; sleep 0.1; done |
$d >busy) >/dev/null 2>&1 &
((sleep 60; echo "INSERT INTO busy VALUES (0) RETURNING n;") | $d >idle) >/dev/null 2>&1 &
sleep 2`

// outage is what befalls nodes or the control plane.
type outage struct {
	name string
	// voters are how many members the node of the primary has; 0 if it does not matter.
	voters int
	befall func(s *scene, w *writer, m *harness.Machine, node string)
}

// TestOutages takes away the node of the primary, with one voter on it and with two, that of the others, and the
// control plane, while clients write. It disturbs every cluster there is, so nothing may run at the same time.
func TestOutages(t *testing.T) {
	if !torture.Full() {
		t.Skip("make torture ENGINE=postgres runs it")
	}
	results := &torture.Ledger{}
	t.Cleanup(func() { results.Write(t) })
	for _, o := range []outage{
		{"node of the primary cut off, one voter on it", 1, aloneCut},
		{"node of the primary cut off, two voters on it", 2, majorityCut},
		{"majority cut off without the primary", 1, minorityLeft},
		{"control plane away, primary killed meanwhile", 0, controlAway},
	} {
		t.Run(strings.NewReplacer(" ", "-", ",", "").Replace(o.name), func(t *testing.T) {
			s := newScene(t, "outage")
			s.lasts(testWithin + awayFor)
			machine, err := s.site.Machine()
			if errors.Is(err, harness.ErrNoMachine) {
				t.Skip(err)
			}
			s.ok(err)
			row := torture.Row{Verb: "PostgreSQL: outages", Where: o.name, Result: "FAILED", Runs: 1, Gap: -1}
			defer func() { results.Add(row) }()
			release := s.releases(17)[0]
			s.create(release, "3")
			node, other := s.shared.Leads(o.voters)
			w := s.writeFrom(other, release)
			s.sql("CREATE TABLE busy (n bigint)")
			first := s.primary()
			s.inside(first, sessions)
			began := time.Now()
			o.befall(s, w, machine, node)
			s.healthy(3)
			w.goesOn("clients write after: " + o.name)
			row.Gap = w.gap(began)
			s.judged(first, time.Until(began.Add(70*time.Second)))
			w.check()
			if !s.Failed() {
				row.Result = "ok"
			}
		})
	}
}

// aloneCut: the others have a new primary while the old one is cut off.
func aloneCut(s *scene, w *writer, m *harness.Machine, node string) {
	first, began := s.primary(), time.Now()
	s.shared.Cut(m, node)
	w.goesOn("clients write while the node of the primary is cut off")
	gap := w.gap(began)
	s.Logf("cut off: no row was acknowledged for %s", gap)
	if gap > takenWithin {
		s.Errorf("no row was acknowledged for %s", gap)
	}
	if now := s.primary(); now == first {
		s.Errorf("%s is still the primary", now)
	}
	time.Sleep(time.Until(began.Add(cutFor)))
	s.shared.Connected(m, node)
}

// majorityCut: the primary is cut off together with a majority, so it stays the primary for who reaches it. The one
// that is left does not lead.
func majorityCut(s *scene, w *writer, m *harness.Machine, node string) {
	began := time.Now()
	s.shared.Cut(m, node)
	s.shared.Down()
	s.says("recover")
	time.Sleep(time.Until(began.Add(cutFor)))
	s.shared.Connected(m, node)
	w.goesOn("clients write once the majority is back")
}

// minorityLeft: a majority is cut off, and the primary is not with it. It stops within its lease, for the session
// beside it too, and the others have a new one by the time that they are back.
func minorityLeft(s *scene, w *writer, m *harness.Machine, node string) {
	first, began := s.primary(), time.Now()
	for _, p := range s.shared.Members() {
		if p.Spec.NodeName != node {
			s.shared.Cut(m, p.Spec.NodeName)
			node = p.Spec.NodeName
			break
		}
	}
	s.shared.Down()
	s.says("recover")
	acks := s.inside(first, "cat /dev/shm/busy")
	time.Sleep(time.Until(began.Add(cutFor)))
	if now := s.inside(first, "cat /dev/shm/busy"); now != acks {
		s.Errorf("%s acknowledged %d rows without a majority", first, strings.Count(now, "\n")-strings.Count(acks, "\n"))
	}
	s.shared.Connected(m, node)
	w.goesOn("clients write once the majority is back")
}

// controlAway: while there is no API server the primary dies, and another member leads.
func controlAway(s *scene, w *writer, m *harness.Machine, _ string) {
	first, began := s.primary(), time.Now()
	kill, err := m.Killer(s.ctx, s.ns, first)
	s.ok(err)
	away := make(chan error, 1)
	go func() { away <- m.Cluster(s.ctx, "component", "restart", "kube-apiserver", "--away", awayFor.String()) }()
	time.Sleep(awayFor / 3)
	died := time.Now()
	// The kubelet starts it again at once, in time for its lease; killed again and again it stays away.
	s.shared.KillFor(kill, deadFor)
	s.ok(<-away)
	s.ok(harness.Until(s.ctx, readWithin, "what was acknowledged to be read", func(ctx context.Context) error {
		acks, err := w.Acks(ctx)
		if err == nil && !acks[len(acks)-1].At.After(began.Add(awayFor-10*time.Second)) {
			err = errors.New("no row was acknowledged without a control plane")
		}
		return err
	}))
	gap := w.gap(died)
	s.Logf("without a control plane: no row was acknowledged for %s", gap)
	if gap > takenWithin {
		s.Errorf("no row was acknowledged for %s", gap)
	}
	if now := s.primary(); now == first {
		s.Errorf("%s is still the primary", now)
	}
}

// says waits until status says something.
func (s *scene) says(words ...string) {
	s.Helper()
	s.ok(harness.Until(s.ctx, time.Minute, "status to say what to type", func(context.Context) error {
		r := s.try("status", "db")
		for _, w := range words {
			if !strings.Contains(r.Stdout, w) {
				return fmt.Errorf("%q is missing:\n%s", w, r)
			}
		}
		return nil
	}))
}

// inside runs a script in the pod of a member.
func (s *scene) inside(member, script string) string {
	s.Helper()
	return s.shared.Inside(member, "postgres", script)
}

// judged asks that what the sessions on the old primary were told is there, once the idle one had to do something.
func (s *scene) judged(first string, after time.Duration) {
	s.Helper()
	time.Sleep(after)
	acks, there := strings.Fields(s.inside(first, "cat /dev/shm/busy /dev/shm/idle")), map[string]bool{}
	for n := range strings.FieldsSeq(s.sql("SELECT n FROM busy")) {
		there[n] = true
	}
	for _, n := range acks {
		if !there[n] {
			s.Errorf("row %s was acknowledged by %s and is lost", n, first)
		}
	}
	s.Logf("a session on the old primary was acknowledged %d rows, and all are there", len(acks))
	if len(acks) < 5 {
		s.Errorf("the session on the old primary wrote %d rows only", len(acks))
	}
}

// endProcess kills every process of a program in the container of a member, but for the guard.
func (s *scene) endProcess(member, program string) {
	s.Helper()
	s.inside(member, `for p in /proc/[0-9]*; do read -r c 2>/dev/null <$p/comm && [ "$c" = `+program+` ] && `+
		`[ $p != /proc/1 ] && kill -9 ${p#/proc/}; done; true`)
}
