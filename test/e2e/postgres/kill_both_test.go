//go:build e2e

package postgres

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
)

// TestKilledBoth kills the tool with SIGKILL between the steps of a verb and an agent with it: that of the primary, or
// of the member that the verb is about. The same command comes to its end, and a client loses no row that was
// acknowledged.
func TestKilledBoth(t *testing.T) {
	if !torture.Full() {
		t.Skip("make torture ENGINE=postgres runs it")
	}
	results := &torture.Ledger{}
	t.Cleanup(func() { results.Write(t) })
	for _, v := range agentVerbs() {
		t.Run(strings.NewReplacer(" ", "-", ",", "").Replace(strings.TrimPrefix(v.Name, "PostgreSQL: ")),
			func(t *testing.T) { v.Kill(t, results, rand.New(rand.NewPCG(torture.Seed(t), 1))) })
	}
}

// agentVerbs are those during which an agent dies.
func agentVerbs() []torture.Verb[*scene] {
	// leads is the primary when the verb begins, other the member that it is about.
	var leads, other string
	note := func(s *scene) { leads, other = s.primary(), s.replica() }
	healthy, none := func(s *scene) { s.settled(3) }, func(*scene) {}
	switchover := func(s *scene) []string { note(s); return []string{"switchover", "db", "--to", other} }
	replace := func(s *scene) []string {
		note(s)
		return []string{"member", "replace", "db", other, "--force", "--yes"}
	}
	primaryDies := func(s *scene) { s.endProcess(leads, "dbop-agent") }
	return []torture.Verb[*scene]{
		{Name: "PostgreSQL: switchover, agent of the primary killed", Stage: staged("3"), Arm: switchover, Check: healthy,
			Reset: none, Meanwhile: primaryDies},
		{Name: "PostgreSQL: switchover, agent of the next primary killed", Stage: staged("3"), Arm: switchover,
			Check: healthy, Reset: none, Meanwhile: func(s *scene) { s.endProcess(other, "dbop-agent") }},
		{Name: "PostgreSQL: replace member, agent of the primary killed", Stage: staged("3"), Arm: replace, Check: healthy,
			Reset: none, Meanwhile: primaryDies},
	}
}
