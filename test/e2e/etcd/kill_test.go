//go:build e2e

package etcd

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// killRate is the load under which the tool dies.
const killRate = 50

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
	seed := torture.Seed(t)
	results := &torture.Ledger{}
	t.Cleanup(func() { results.Write(t) })
	for i, d := range deadlies() {
		t.Run(strings.ReplaceAll(d.name, " ", "-"), func(t *testing.T) {
			d.killed().Kill(t, results, rand.New(rand.NewPCG(seed, uint64(i))))
		})
	}
}

// stage is a scene with the cluster that the verb needs.
func (d deadly) stage(t *testing.T) *scene {
	t.Helper()
	s := newScene(t, "kill", "my-db", "my-copy")
	if torture.Full() {
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

// killed is the verb as the shared machine kills it.
func (d deadly) killed() torture.Verb[*scene] {
	return torture.Verb[*scene]{Name: d.name, Stage: d.stage, Arm: d.arm, Check: d.check, Reset: d.reset, Quiet: d.quiet}
}

// Run runs the plugin, which dies at the first of the fail points that it reaches.
func (s *scene) Run(points []string, args ...string) harness.Result {
	s.Helper()
	return s.with(s.mortal(points...), args...)
}

// Load starts a client of my-db; the function that it returns ends it, and tells the longest gap.
func (s *scene) Load() func() time.Duration {
	s.Helper()
	db, began := s.dial("my-db"), time.Now()
	w := harness.StartWriter(s.ctx, db, fmt.Sprintf("load-%d/", began.UnixNano()), killRate)
	s.Cleanup(func() { w.Stop() })
	return func() time.Duration {
		s.Helper()
		gap := w.LongestGap(began, time.Now())
		s.nothingLost(db, w, "load-")
		return gap
	}
}

// mortal is the tool that dies at the first of the fail points that it reaches.
func (s *scene) mortal(points ...string) harness.Command { return torture.Mortal(s.cli, points...) }

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
