//go:build e2e

package postgres

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// verbWithin bounds all deaths of one verb.
const verbWithin = 2 * time.Hour

// TestKilled kills the tool with SIGKILL between the steps of verbs, and types the same command again, until it is
// done. Meanwhile a client writes, and loses no row that was acknowledged.
func TestKilled(t *testing.T) {
	if !torture.Full() {
		t.Skip("make torture ENGINE=postgres runs it")
	}
	results := &torture.Ledger{}
	t.Cleanup(func() { results.Write(t) })
	for _, v := range verbs() {
		t.Run(strings.ReplaceAll(strings.TrimPrefix(v.Name, "PostgreSQL: "), " ", "-"), func(t *testing.T) {
			v.Kill(t, results, rand.New(rand.NewPCG(torture.Seed(t), 1)))
		})
	}
}

// verbs are those that are killed.
func verbs() []torture.Verb[*scene] {
	var old, latest harness.PostgresRelease
	scale := func(members int, more ...string) func(*scene) []string {
		return func(*scene) []string {
			return append([]string{"scale", "db", "--members", strconv.Itoa(members), "--yes"}, more...)
		}
	}
	has := func(members int) func(*scene) { return func(s *scene) { s.settled(members) } }
	to := func(members string) func(*scene) {
		return func(s *scene) { s.must("scale", "db", "--members", members, "--yes") }
	}
	return append(everyday(), []torture.Verb[*scene]{
		{Name: "PostgreSQL: upgrade", Stage: func(t *testing.T) *scene {
			s := newVictim(t)
			releases := s.releases(15)
			old, latest = releases[len(releases)-1], releases[0]
			if old.Version == latest.Version {
				t.Skip("there is one release of version 15 only")
			}
			s.create(old, "3")
			return s
		}, Arm: func(*scene) []string {
			return []string{"upgrade", "db", "--version", latest.Version, "--image", latest.Image, "--skip-backup"}
		}, Check: func(s *scene) {
			s.settled(3)
			if got := strings.Count(s.must("status", "db").Stdout, " "+latest.Version+" "); got < 3 {
				s.Errorf("%d members run %s", got, latest.Version)
			}
		}},
		{Name: "PostgreSQL: replace member", Stage: staged("3"), Arm: func(s *scene) []string {
			return []string{"member", "replace", "db", s.replica(), "--force", "--yes"}
		}, Check: has(3), Reset: func(*scene) {}},
		{Name: "PostgreSQL: scale a pair to three", Stage: staged("2"), Arm: scale(3), Check: has(3), Reset: to("2")},
		{Name: "PostgreSQL: scale three to a pair", Stage: staged("3"), Arm: scale(2), Check: has(2), Reset: to("3")},
		reroute("direct", "proxied"),
		reroute("proxied", "direct"),
		renewal(),
		hold(),
		founding(),
	}...)
}

// founding is a cluster that begins with a database of a name, an owner and SQL, which is carried out once.
func founding() torture.Verb[*scene] {
	return torture.Verb[*scene]{Name: "PostgreSQL: create with SQL", Quiet: true,
		Stage: func(t *testing.T) *scene {
			s := newVictim(t)
			s.initialSQL("CREATE TABLE orders (n int);\nINSERT INTO orders VALUES (1)")
			return s
		}, Arm: func(s *scene) []string {
			r := s.releases(17)[0]
			return []string{"create", "db", "--engine", "postgres", "--version", r.Version, "--image", r.Image, "--members", "1",
				"--storage", "1Gi", "--database", "shop", "--owner", "seller", "--initial-sql", "schema"}
		}, Check: func(s *scene) {
			s.settled(1)
			if got := s.must("connect", "db", "--", "-At", "-d", "shop", "-c",
				"SELECT count(*) FROM orders").Stdout; got != "1\n" {
				s.Errorf("the SQL was carried out %q times", got)
			}
		}, Reset: func(s *scene) { s.must("delete", "db", "--purge", "--skip-backup", "--yes") }}
}

// reroute is a change of the way of clients.
func reroute(to, from string) torture.Verb[*scene] {
	change := func(to string) []string { return []string{"configure", "db", "--routing", to} }
	return torture.Verb[*scene]{Name: "PostgreSQL: configure --routing " + to, Stage: staged("3", "--routing", from),
		Arm: func(*scene) []string { return change(to) },
		Check: func(s *scene) {
			s.settled(3)
			s.shared.Led(to == "direct")
		},
		Reset: func(s *scene) { s.must(change(from)...) }}
}

// renewal is a change of the image that agents come from.
func renewal() torture.Verb[*scene] {
	change := func(image string) []string { return []string{"configure", "db", "--helper-image", image} }
	return torture.Verb[*scene]{Name: "PostgreSQL: configure --helper-image", Stage: staged("3"),
		Arm: func(s *scene) []string { return change(s.site.NewerImage) },
		Check: func(s *scene) {
			s.settled(3)
			s.shared.AgentsFrom(s.site.NewerImage, 3)
		},
		Reset: func(s *scene) { s.must(change(s.site.Env["DBOP_HELPER_IMAGE"])...) }}
}

// hold is one that ends when its time is over: a repeat of the command asks for the same one.
func hold() torture.Verb[*scene] {
	return torture.Verb[*scene]{Name: "PostgreSQL: hold", Stage: staged("3"),
		Arm: func(*scene) []string {
			return []string{"hold", "db", "--for", "1h", "--because", "work on the network"}
		},
		Check: func(s *scene) {
			s.settled(3)
			s.refused(4, "a hold is in force for 1h0m0s", "switchover", "db")
		},
		Reset: func(s *scene) { s.must("hold", "db", "--end") }}
}

// staged is a scene with a cluster of so many members.
func staged(members string, more ...string) func(*testing.T) *scene {
	return func(t *testing.T) *scene {
		s := newVictim(t)
		s.create(s.releases(17)[0], members, more...)
		return s
	}
}

// newVictim is a scene that lasts as long as all deaths take.
func newVictim(t *testing.T) *scene {
	t.Helper()
	s := newScene(t, "kill")
	s.lasts(verbWithin)
	return s
}

// Return has every pod made again.
func (s *scene) Return() { s.shared.Return() }

// Run runs the plugin, which dies at the first of the fail points that it reaches.
func (s *scene) Run(points []string, args ...string) harness.Result {
	s.Helper()
	r, err := torture.Mortal(s.cli, points...).Run(s.ctx, append([]string{"-n", s.ns}, args...)...)
	s.ok(err)
	return r
}

// Load starts a writer; the function that it returns compares what was acknowledged with what is there.
func (s *scene) Load() func() time.Duration {
	s.Helper()
	s.sql("DROP TABLE IF EXISTS written")
	w, began := s.write(s.releases(17)[0]), time.Now()
	return func() time.Duration {
		s.Helper()
		gap := w.gap(began)
		w.enough()
		w.check()
		return gap
	}
}

// settled waits until so many members are healthy and there is no volume but theirs.
func (s *scene) settled(members int) {
	s.Helper()
	s.healthy(members)
	s.ok(harness.Until(s.ctx, goneWithin, "one volume a member", func(ctx context.Context) error {
		claims, err := s.site.Client.CoreV1().PersistentVolumeClaims(s.ns).List(ctx,
			metav1.ListOptions{LabelSelector: "dbop.dev/cluster=db"})
		if err != nil {
			return err
		}
		if pods := s.shared.Members(); len(pods) != len(claims.Items) {
			return fmt.Errorf("there are %d volumes and %d pods", len(claims.Items), len(pods))
		}
		return nil
	}))
}
