//go:build e2e

package postgres

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// wish is what a person wants of a cluster under a custom resource.
type wish struct {
	name string
	// args is the command that means the same, whose steps are the fail points.
	args func(*scene) []string
	// edit is the change of the custom resource; "" where a command asks for it.
	edit string
	// members there are in the end.
	members int
}

// wishes are each for a cluster as the one before left it.
func wishes() []wish {
	words := func(args ...string) func(*scene) []string { return func(*scene) []string { return args } }
	return []wish{
		{"switchover", words("switchover", "db"), "", 3},
		{"restart", words("restart", "db"), "", 3},
		{"replace member", func(s *scene) []string {
			return []string{"member", "replace", "db", s.replica(), "--force", "--yes"}
		}, "", 3},
		{"scale three to a pair", words("scale", "db", "--members", "2", "--yes"), `{"members": 2}`, 2},
		{"scale a pair to three", words("scale", "db", "--members", "3"), `{"members": 3}`, 3},
	}
}

// TestOperatorKilled has operators carry out wishes of which each dies at another step, while a client writes. Another
// operator goes on, nothing is done twice, and no row that was acknowledged is lost.
func TestOperatorKilled(t *testing.T) {
	s := newScene(t, "opkill")
	results := &torture.Ledger{}
	t.Cleanup(func() { results.Write(t) })
	choose := rand.New(rand.NewPCG(torture.Seed(t), 14))
	release, all, few, members := s.releases(17)[0], wishes(), 0, "3"
	if torture.Full() {
		s.lasts(verbWithin)
	} else {
		all, few, members = all[:1], 1, "2"
		all[0].members = 2
	}
	s.kubectl("apply", "--server-side", "--force-conflicts", "-f", filepath.Join(s.site.Root, "deploy", "crd"))
	s.kubectl("wait", "--for=condition=Established", "crd/databaseclusters.dbop.dev", "--timeout=60s")
	s.create(release, members)
	s.must("operator", "adopt", "db")
	w := s.write(release)
	for _, v := range all {
		results.Add(v.killed(s, choose, few))
	}
	w.goesOn("clients write after operators died")
	w.check()
}

// killed has a wish carried out by operators that die, few of them or, for 0, at every fail point.
func (v wish) killed(s *scene, choose *rand.Rand, few int) torture.Row {
	s.Helper()
	args := v.args(s)
	points := torture.FailPoints(torture.Plan(s, args...))
	if few > 0 {
		points = points[choose.IntN(len(points)-few):]
	}
	verb := strings.Fields(v.name)[0]
	before := strings.Count(s.must("history", "db").Stdout, verb)
	var asking *harness.Process
	asked := false
	row := s.shared.Operate("PostgreSQL: operators that die", v.name, points, few, func() error {
		switch {
		case !asked && v.edit != "":
			s.edit(v.edit)
			asked = true
		case !asked:
			if err := s.noticed(); err != nil {
				return err
			}
			asking, asked = s.shared.Start(args...), true
		case asking != nil && !asking.Ended():
			return errors.New("the command waits")
		}
		done := s.must("history", "db").Stdout
		if n := strings.Count(done, verb); n != before+1 || strings.Contains(done, "Running") {
			return fmt.Errorf("of %d operations before:\n%s", before, done)
		}
		return nil
	})
	if asking != nil {
		if r, err := asking.Wait(); err != nil || r.Code != 0 {
			s.Errorf("the command that asked for it: %v\n%s", err, r)
		}
	}
	s.settled(v.members)
	return row
}

// noticed says why a command would not know yet that an operator is there.
func (s *scene) noticed() error {
	got := s.kubectl("get", "dbc", "db", "-o", "jsonpath={.status.operator} {.metadata.generation} "+
		"{.status.observedGeneration}")
	if f := strings.Fields(got); len(f) != 3 || f[1] != f[2] {
		return fmt.Errorf("the operator, and what it has noticed: %q", got)
	}
	return nil
}
