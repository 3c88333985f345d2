//go:build e2e

package etcd

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

const (
	// chosen is how many fail points of each verb the short form dies at.
	chosen = 3
	// killRate is the load under which the tool dies.
	killRate = 50
)

// deadly is one verb that is killed between its steps and repeated.
type deadly struct {
	name string
	// version and members of the cluster that is there before; members 0 is none.
	version, members string
	// options of that cluster, if not the usual ones.
	options []string
	// arm, if set, prepares what the verb works on and returns its arguments.
	arm func(*scene) []string
	// check asks whether the verb reached its end.
	check func(*scene)
	// reset brings the scene back to where the verb can be done again; nil if
	// that takes a new scene.
	reset func(*scene)
	// quiet verbs stop or replace the database, so no client writes meanwhile.
	quiet bool
}

func fixed(args ...string) func(*scene) []string {
	return func(*scene) []string { return args }
}

// deadlies are all verbs that change something.
func deadlies() []deadly {
	wantMembers := func(n int) func(*scene) {
		return func(s *scene) { s.healthy("my-db", n); s.settledVolumes("my-db", n) }
	}
	createArgs := []string{"create", "my-db", "--engine", "etcd", "--version", "3.6", "--members", "3", "--storage",
		storage, "--auth"}
	purge := func(name string) func(*scene) {
		return func(s *scene) {
			s.must("delete", name, "--purge", "--skip-backup", "--yes")
			s.settledVolumes(name, 0)
		}
	}
	backedUp := func(more ...string) func(*scene) []string {
		return func(s *scene) []string { return append(more, s.someBackup()) }
	}
	return append(newerDeadlies(wantMembers), []deadly{
		{name: "create", arm: fixed(createArgs...), check: func(s *scene) { wantMembers(3)(s); s.demands("my-db", "on") },
			reset: purge("my-db"), quiet: true},
		{name: "add-member", version: "3.6", members: "3", arm: fixed("add-member", "my-db"), check: wantMembers(4),
			reset: func(s *scene) { s.must("member", "remove", "my-db", "my-db-4", "--yes") }},
		{name: "remove-member", version: "3.6", members: "3", arm: func(s *scene) []string {
			return []string{"member", "remove", "my-db", s.leader("my-db"), "--yes"}
		}, check: wantMembers(2), reset: func(s *scene) { s.must("add-member", "my-db") }},
		{name: "scale", version: "3.6", members: "1", arm: fixed("scale", "my-db", "--members", "3"), check: wantMembers(3),
			reset: func(s *scene) { s.must("scale", "my-db", "--members", "1", "--yes") }},
		{name: "backup", version: "3.6", members: "1", arm: fixed("backup", "my-db", "--verify"),
			check: (*scene).verifiedBackup, reset: func(*scene) {}},
		{name: "upgrade", version: "3.5", members: "3", arm: fixed("upgrade", "my-db", "--version", "3.6"),
			check: func(s *scene) {
				s.healthy("my-db", 3)
				for _, m := range s.status("my-db").Members {
					if !strings.HasPrefix(m.Version, "3.6.") {
						s.Errorf("%s still runs %s", m.Name, m.Version)
					}
				}
			}},
		{name: "rotate certificates", version: "3.6", members: "3", arm: fixed("certificates", "rotate", "my-db"),
			check: func(s *scene) {
				s.healthy("my-db", 3)
				s.liveCertificates("my-db", "served")
			}, reset: func(*scene) {}},
		{name: "rotate authority", version: "3.6", members: "3",
			arm: fixed("certificates", "rotate", "my-db", "--ca=at-once", "--yes"), check: func(s *scene) {
				s.healthy("my-db", 3)
				s.liveCertificates("my-db", "served")
			}, reset: func(*scene) {}, quiet: true},
		{name: "downgrade", version: "3.7", members: "3", arm: fixed("downgrade", "my-db", "--version", "3.6"),
			check: func(s *scene) { s.healthy("my-db", 3); s.runs("my-db", "3.6.") },
			reset: func(s *scene) { s.must("upgrade", "my-db", "--version", "3.7", "--skip-backup") }},
		{name: "restore", version: "3.6", members: "1", arm: backedUp("restore", "my-copy", "--members", "3", "--storage",
			storage, "--from"),
			check: func(s *scene) { s.healthy("my-copy", 3); s.holdsBackup("my-copy") }, reset: purge("my-copy"),
			quiet: true},
		{name: "restore in place", version: "3.6", members: "3",
			arm:   backedUp("restore", "my-db", "--in-place", "--yes", "--from"),
			check: func(s *scene) { s.healthy("my-db", 3); s.holdsBackup("my-db") }, reset: func(*scene) {}, quiet: true},
		{name: "auth enable", version: "3.6", members: "3", arm: fixed("user", "auth", "enable", "my-db", "--yes"),
			check: func(s *scene) { s.healthy("my-db", 3); s.demands("my-db", "on") },
			reset: func(s *scene) { s.must("user", "auth", "disable", "my-db", "--yes") }},
		{name: "credentials rotate", version: "3.6", members: "1", arm: func(s *scene) []string {
			s.must("user", "auth", "enable", "my-db", "--yes")
			return []string{"user", "rotate", "my-db"}
		}, check: func(s *scene) { s.healthy("my-db", 1); s.demands("my-db", "on") }, reset: func(*scene) {}},
		{name: "user create", version: "3.6", members: "1",
			arm: fixed("user", "create", "my-db", "app", "--prefix", "/app/"),
			check: func(s *scene) {
				if r := s.must("user", "list", "my-db"); !strings.Contains(r.Stdout, "read and write /app/*") {
					s.Errorf("the user is missing:\n%s", r)
				}
			}, reset: func(s *scene) { s.must("user", "delete", "my-db", "app", "--yes") }},
		{name: "recover", version: "3.6", members: "3", arm: func(s *scene) []string {
			s.loseMajority("my-db")
			return []string{"recover", "my-db", "--method", "data", "--confirm=my-db"}
		}, check: func(s *scene) { s.healthy("my-db", 3); s.holdsBackup("my-db") }, reset: func(*scene) {}, quiet: true},
		{name: "delete", version: "3.6", members: "1", arm: fixed("delete", "my-db", "--purge", "--yes"),
			check: func(s *scene) {
				s.settledVolumes("my-db", 0)
				if r := s.try("status", "my-db"); r.Code != 6 || !strings.Contains(r.Stderr, "not found") {
					s.Errorf("the cluster is still there:\n%s", r)
				}
			}, quiet: true},
	}...)
}

// TestKilled kills the tool with SIGKILL between the steps of every verb, and
// types the same command again, until it is done.
func TestKilled(t *testing.T) {
	t.Parallel()
	seed := seed(t)
	results := &ledger{seed: seed}
	t.Cleanup(func() { results.write(t) })
	for i, d := range deadlies() {
		t.Run(strings.ReplaceAll(d.name, " ", "-"), func(t *testing.T) {
			if torture() {
				d.everywhere(t, results)
				return
			}
			d.somewhere(t, results, rand.New(rand.NewPCG(seed, uint64(i))))
		})
	}
}

// somewhere dies at a few chosen fail points, in order, on one way to the end.
func (d deadly) somewhere(t *testing.T, results *ledger, choose *rand.Rand) {
	s := d.stage(t)
	args := d.arm(s)
	all := boundaries(s.plan(args...))
	pick := choose.Perm(len(all))[:min(chosen, len(all))]
	var points []string
	for i, p := range all {
		for _, j := range pick {
			if i == j {
				points = append(points, p)
			}
		}
	}
	d.die(s, results, strings.Join(points, ", "), args, points)
}

// everywhere dies at all fail points on one way, then at each alone. Names of
// members differ from one time to the next, so every time has its own plan.
func (d deadly) everywhere(t *testing.T, results *ledger) {
	s := d.stage(t)
	args := d.arm(s)
	all := boundaries(s.plan(args...))
	d.die(s, results, fmt.Sprintf("all %d, one by one", len(all)), args, all)
	for i, point := range all {
		if s.Failed() {
			return
		}
		if d.reset == nil {
			t.Run(point, func(t *testing.T) {
				s := d.stage(t)
				d.alone(s, results, d.arm(s), i)
			})
			continue
		}
		d.reset(s)
		d.alone(s, results, d.arm(s), i)
	}
}

// alone dies at the i-th fail point and nowhere else.
func (d deadly) alone(s *scene, results *ledger, args []string, i int) {
	s.Helper()
	all := boundaries(s.plan(args...))
	if i >= len(all) {
		s.Logf("%s has only %d fail points this time", d.name, len(all))
		return
	}
	d.die(s, results, all[i], args, all[i:i+1])
}

// stage is a scene with the cluster that the verb needs.
func (d deadly) stage(t *testing.T) *scene {
	t.Helper()
	s := newScene(t, "kill", "my-db", "my-copy")
	if torture() {
		var cancel context.CancelFunc
		s.ctx, cancel = context.WithTimeout(context.WithoutCancel(s.ctx), time.Hour)
		t.Cleanup(cancel)
	}
	if d.members != "" {
		s.create("my-db", d.version, d.members, d.options...)
		s.ok(harness.FillKeys(s.ctx, s.dial("my-db"), "kept/", 500, 64))
	}
	return s
}

// die runs the command and dies at each point that it reaches, then runs it to its end.
func (d deadly) die(s *scene, results *ledger, title string, args, points []string) {
	s.Helper()
	row := row{verb: d.name, where: title, result: "FAILED", gap: -1}
	defer func() { results.add(row) }()
	var w *harness.Writer
	var db *harness.Etcd
	if !d.quiet {
		db = s.dial("my-db")
		w = harness.StartWriter(s.ctx, db, fmt.Sprintf("load-%d/", time.Now().UnixNano()), killRate)
		defer w.Stop()
	}
	began, left := time.Now(), slices.Clone(points)
	for {
		r := s.with(s.mortal(left...), args...)
		row.runs++
		// What the verb was armed with, such as the loss of a member, may need a
		// moment to settle. Once it began, nothing may refuse to continue it.
		for len(left) == len(points) && (r.Code == 4 || r.Code == 5) && time.Since(began) < settledWithin {
			s.Logf("%s: refused at first: %s", d.name, lastLines(r.Stderr, 2))
			r = s.with(s.mortal(left...), args...)
			row.runs++
		}
		if i := slices.Index(left, diedAt(r)); i >= 0 {
			s.Logf("%s: died at %s after %s", d.name, left[i], r.Duration.Round(100*time.Millisecond))
			left = slices.Delete(left, i, i+1)
			continue
		}
		if r.Code != 0 {
			s.Fatalf("after a kill at %s the same command does not come to its end:\n%s", title, r)
		}
		break
	}
	if len(left) > 0 {
		s.Logf("%s: did not come past %v", d.name, left)
		row.where += fmt.Sprintf(" (%d not reached)", len(left))
	}
	if w != nil {
		row.gap = w.LongestGap(began, time.Now())
		s.nothingLost(db, w, "load-")
	}
	d.check(s)
	if !s.Failed() {
		row.result = "ok"
	}
}

// diedAt is the fail point at which the tool killed itself, "" for none.
func diedAt(r harness.Result) string {
	_, point, _ := strings.Cut(r.Stderr, "dying at ")
	point, _, _ = strings.Cut(point, "\n")
	if !r.Killed() {
		return ""
	}
	return point
}

// mortal is the tool that dies at the first of the fail points that it reaches.
func (s *scene) mortal(points ...string) harness.Command {
	cli := s.cli
	cli.Env = maps.Clone(cli.Env)
	cli.Env["DBOP_TEST_DIE_AT"] = strings.Join(points, " ")
	return cli
}

// fail points are the points before and after every step of a plan, and within
// those that take several tries. Where the second part of a step's name is only
// known at run time, the action is alone.
func boundaries(steps []string) []string {
	var out []string
	seen := map[string]int{}
	for _, id := range steps {
		action, member, _ := strings.Cut(id, "/")
		point := id
		switch {
		case strings.Contains(member, ","), action == "backup", action == "verify-backup", action == "hand-over":
			point = action
		case action == "wait":
			continue
		}
		if seen[point]++; seen[point] > 1 {
			continue
		}
		out = append(out, "before:"+point)
		if slices.Contains([]string{"verify-backup", "load-backup", "stop-members", "retire-member", "upgrade-member",
			"downgrade-member", "restart-member", "roll-member", "renew-certificate", "fence-members", "examine-volume",
			"recover-data"}, action) {
			out = append(out, "within:"+point)
		}
		out = append(out, "after:"+point)
	}
	return out
}

// someBackup makes a backup and returns its identifier.
func (s *scene) someBackup() string {
	s.Helper()
	s.must("backup", "my-db")
	b, err := harness.LastBackup(s.backups)
	s.ok(err)
	return b.ID
}

// verifiedBackup asks for a backup that was restored and compared.
func (s *scene) verifiedBackup() {
	s.Helper()
	b, err := harness.LastBackup(s.backups)
	s.ok(err)
	if b.Verified == nil {
		s.Errorf("backup %s was not verified", b.ID)
	}
	s.healthy("my-db", 1)
}

// holdsBackup asks for the keys that were there before the backup.
func (s *scene) holdsBackup(name string) {
	s.Helper()
	kept, err := harness.ReadAll(s.ctx, s.dial(name), "kept/")
	s.ok(err)
	if len(kept) != 500 {
		s.Errorf("%s holds %d of 500 restored keys", name, len(kept))
	}
}
