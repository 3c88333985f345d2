//go:build e2e

package postgres

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
)

// TestUpgradeOnlineKilled kills the tool before and after each step of each operation of an online upgrade, of the way
// back, and of the end of it, while an application writes. The same command goes on.
func TestUpgradeOnlineKilled(t *testing.T) {
	if !torture.Full() {
		t.Skip("make torture ENGINE=postgres runs it")
	}
	results := &torture.Ledger{}
	t.Cleanup(func() { results.Write(t) })
	s := newVictim(t)
	from, to := s.releases(17)[0], s.releases(18)[0]
	s.create(from, "1")
	s.apply(from.Image)
	upgrade := []string{"upgrade", "db", "--online", "--version", to.Version, "--image", to.Image, "--allow-downtime",
		"--yes"}
	// A plan is of the operation that comes next.
	steps := torture.Plan(s, upgrade...)
	steps = append(steps, torture.Plan(s, "create", "db-v18", "--engine", "postgres", "--version", to.Version, "--image",
		to.Image, "--members", "1", "--storage", "1Gi", "--from-cluster", "db")...)
	row := s.killed("forward", append(steps, "cut-over", "redirect/db-v18", "follow"), upgrade)
	row.Gap = s.movedTo(18, "db-v18")
	results.Add(row)
	way := []string{"upgrade", "db", "--online", "--into", "db-v18", "--yes"}
	row = s.killed("back", []string{"cut-over", "redirect/db"}, append(slices.Clone(way), "--back"))
	row.Gap = s.movedTo(17, "db")
	results.Add(row)
	s.healthy(1)
	s.must("delete", "db-v18", "--purge", "--yes")

	s.must(upgrade...)
	s.movedTo(18, "db-v18")
	results.Add(s.killed("finish", []string{"stop-members", "end-way-back"}, append(slices.Clone(way), "--finish")))
	if r := s.must("status", "db-v18"); !strings.Contains(r.Stdout, " primary ") {
		t.Errorf("the cluster that stays does not serve:\n%s", r)
	}
	s.must("delete", "db", "--purge", "--skip-backup", "--yes")
}

// killed types a command again until it comes to its end. It dies at each fail point of the steps, one by one.
func (s *scene) killed(way string, steps, command []string) torture.Row {
	s.Helper()
	row := torture.Row{Verb: "PostgreSQL: upgrade --online", Where: way, Result: "FAILED", Gap: -1}
	left := slices.DeleteFunc(torture.FailPoints(steps), func(point string) bool {
		return point == "after:stop-members" // that they are gone is seen, not answered
	})
	for began := time.Now(); ; {
		row.Runs++
		r := s.Run(left, command...)
		if i := slices.Index(left, torture.DiedAt(r)); i >= 0 {
			s.Logf("%s: died at %s after %s", way, left[i], r.Duration.Round(100*time.Millisecond))
			left = slices.Delete(left, i, i+1)
			continue
		}
		if r.Code != 0 {
			s.Fatalf("%s: after %d kills the same command does not come to its end:\n%s", way, row.Runs-1, r)
		}
		s.Logf("%s: %d kills, %s", way, row.Runs-1, time.Since(began).Round(time.Second))
		break
	}
	if i := slices.IndexFunc(left, func(p string) bool { return !strings.HasPrefix(p, "within:") }); i >= 0 {
		s.Errorf("%s: it never came past %v", way, left)
		return row
	}
	row.Result = fmt.Sprintf("ok, killed at %d fail points, one by one", row.Runs-1)
	return row
}
