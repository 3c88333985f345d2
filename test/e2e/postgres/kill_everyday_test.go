//go:build e2e

package postgres

import (
	"strconv"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
)

// everyday are verbs that change no version and no number of members.
func everyday() []torture.Verb[*scene] {
	healthy := func(s *scene) { s.settled(3) }
	verb := func(args ...string) func(*scene) []string { return func(*scene) []string { return args } }
	do := func(args ...string) func(*scene) { return func(s *scene) { s.must(args...) } }
	none := func(*scene) {}
	alice := func(t *testing.T) *scene {
		s := staged("3")(t)
		s.must("user", "create", "db", "alice", "--database", "sales")
		return s
	}
	return []torture.Verb[*scene]{
		{Name: "PostgreSQL: switchover", Stage: staged("3"), Arm: verb("switchover", "db"), Check: healthy, Reset: none},
		{Name: "PostgreSQL: restart", Stage: staged("3"), Arm: verb("restart", "db"), Check: healthy, Reset: none},
		connections(),
		{Name: "PostgreSQL: stop", Quiet: true, Stage: staged("3"), Arm: verb("stop", "db", "--yes"),
			Check: func(s *scene) {
				if r := s.try("status", "db"); !strings.Contains(r.Stdout, "it is stopped as asked for") {
					s.Errorf("it is not stopped:\n%s", r)
				}
			}, Reset: do("start", "db")},
		{Name: "PostgreSQL: start", Quiet: true, Stage: staged("3"), Arm: func(s *scene) []string {
			s.must("stop", "db", "--yes")
			return []string{"start", "db"}
		}, Check: healthy, Reset: none},
		{Name: "PostgreSQL: user create", Stage: staged("3"),
			Arm: verb("user", "create", "db", "alice", "--database", "sales"), Check: func(s *scene) {
				s.settled(3)
				if r := s.must("user", "list", "db"); strings.Count(r.Stdout, "alice ") != 2 {
					s.Errorf("alice is not listed once:\n%s", r.Stdout)
				}
			}, Reset: do("user", "delete", "db", "alice", "--yes")},
		{Name: "PostgreSQL: user rotate", Stage: alice, Arm: verb("user", "rotate", "db", "alice"), Check: healthy,
			Reset: do("user", "rotate", "db", "alice", "--drop-old", "--yes")},
		{Name: "PostgreSQL: certificates rotate", Stage: staged("3"), Arm: verb("certificates", "rotate", "db", "--yes"),
			Check: healthy, Reset: none},
	}
}

// connections lowers and raises a setting with which servers start: replicas go first with the higher value, and the
// primary with the lower one.
func connections() torture.Verb[*scene] {
	times, value := 0, ""
	return torture.Verb[*scene]{Name: "PostgreSQL: configure max_connections", Stage: staged("3"),
		Arm: func(*scene) []string {
			times++
			value = strconv.Itoa(100 + 20*(times%2))
			return []string{"configure", "db", "--set", "max_connections=" + value}
		}, Check: func(s *scene) {
			s.settled(3)
			if got := s.sql("SHOW max_connections"); got != value {
				s.Errorf("max_connections is %s, want %s", got, value)
			}
		}, Reset: func(*scene) {}}
}
