//go:build e2e

package torture

import (
	"encoding/json"
	"fmt"
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
	// settledWithin is how long a verb may be refused before it has changed anything.
	settledWithin = 30 * time.Second
)

// Scene is what a verb is done to: the cluster of one engine.
type Scene interface {
	testing.TB

	// Run runs the tool, which dies at the first of the points that it reaches.
	Run(points []string, args ...string) harness.Result
	// Load starts a client that writes. The function it returns ends it, asks that nothing acknowledged is lost, and
	// tells the longest time without an acknowledgement.
	Load() func() time.Duration
}

// returner is a scene whose pods can be deleted after a verb, and are waited for.
type returner interface{ Return() }

// Verb is one that is killed between its steps and repeated.
type Verb[S Scene] struct {
	Name string
	// Stage is a scene with the cluster that the verb needs.
	Stage func(*testing.T) S
	// Arm prepares what the verb works on and returns its arguments.
	Arm func(S) []string
	// Check asks whether the verb reached its end.
	Check func(S)
	// Reset brings the scene back to where the verb can be done again; nil if that takes a new scene.
	Reset func(S)
	// Meanwhile is what befalls the scene after each death, before the command is typed again; nil for nothing.
	Meanwhile func(S)
	// Quiet verbs stop or replace the database, so no client writes meanwhile.
	Quiet bool
}

// Kill kills the verb at every fail point if the full form is asked for, else at a few chosen ones.
func (v Verb[S]) Kill(t *testing.T, results *Ledger, choose *rand.Rand) {
	t.Helper()
	if Full() {
		v.everywhere(t, results)
		return
	}
	v.somewhere(t, results, choose)
}

// somewhere dies at a few chosen fail points, in order, on one way to the end.
func (v Verb[S]) somewhere(t *testing.T, results *Ledger, choose *rand.Rand) {
	t.Helper()
	s := v.Stage(t)
	args := v.Arm(s)
	all := FailPoints(Plan(s, args...))
	pick := choose.Perm(len(all))[:min(chosen, len(all))]
	var points []string
	for i, p := range all {
		if slices.Contains(pick, i) {
			points = append(points, p)
		}
	}
	v.die(s, results, strings.Join(points, ", "), args, points)
}

// everywhere dies at all fail points on one way, then at each alone. Names of members differ from one time to the next,
// so every time has its own plan.
func (v Verb[S]) everywhere(t *testing.T, results *Ledger) {
	t.Helper()
	s := v.Stage(t)
	args := v.Arm(s)
	all := FailPoints(Plan(s, args...))
	v.die(s, results, fmt.Sprintf("all %d, one by one", len(all)), args, all)
	if r, ok := any(s).(returner); ok {
		r.Return()
	}
	for i, point := range all {
		if t.Failed() {
			return
		}
		if v.Reset == nil {
			t.Run(point, func(t *testing.T) {
				s := v.Stage(t)
				v.alone(s, results, v.Arm(s), i)
			})
			continue
		}
		v.Reset(s)
		v.alone(s, results, v.Arm(s), i)
	}
}

// alone dies at the i-th fail point and nowhere else.
func (v Verb[S]) alone(s S, results *Ledger, args []string, i int) {
	s.Helper()
	all := FailPoints(Plan(s, args...))
	if i >= len(all) {
		s.Logf("%s has only %d fail points this time", v.Name, len(all))
		return
	}
	v.die(s, results, all[i], args, all[i:i+1])
}

// die runs the command and dies at each point that it reaches, then runs it to its end.
func (v Verb[S]) die(s S, results *Ledger, title string, args, points []string) {
	s.Helper()
	row := Row{Verb: v.Name, Where: title, Result: "FAILED", Gap: -1}
	defer func() { results.Add(row) }()
	var unload func() time.Duration
	if !v.Quiet {
		unload = s.Load()
	}
	began, left := time.Now(), slices.Clone(points)
	for {
		r := s.Run(left, args...)
		row.Runs++
		// What the verb was armed with, such as the loss of a member, may need a
		// moment to settle. Once it began, nothing may refuse to continue it.
		for len(left) == len(points) && (r.Code == 4 || r.Code == 5) && time.Since(began) < settledWithin {
			s.Logf("%s: refused at first: %s", v.Name, lastLines(r.Stderr, 2))
			r = s.Run(left, args...)
			row.Runs++
		}
		if i := slices.Index(left, DiedAt(r)); i >= 0 {
			s.Logf("%s: died at %s after %s", v.Name, left[i], r.Duration.Round(100*time.Millisecond))
			left = slices.Delete(left, i, i+1)
			if v.Meanwhile != nil {
				v.Meanwhile(s)
			}
			continue
		}
		if r.Code != 0 {
			s.Fatalf("after a kill at %s the same command does not come to its end:\n%s", title, r)
		}
		break
	}
	if len(left) > 0 {
		s.Logf("%s: did not come past %v", v.Name, left)
		row.Where += fmt.Sprintf(" (%d not reached)", len(left))
	}
	if unload != nil {
		row.Gap = unload()
	}
	v.Check(s)
	if !s.Failed() {
		row.Result = "ok"
	}
}

// Plan returns the identifiers of the steps that a command would take.
func Plan(s Scene, args ...string) []string {
	s.Helper()
	args = slices.DeleteFunc(slices.Clone(args), func(a string) bool {
		return a == "--yes" || strings.HasPrefix(a, "--confirm=")
	})
	r := s.Run(nil, append(append([]string{"plan"}, args...), "-o", "json")...)
	if r.Code != 0 {
		s.Fatalf("expected success:\n%s", r)
	}
	var p struct {
		Steps []struct {
			ID string `json:"id"`
		} `json:"steps"`
	}
	if err := json.Unmarshal([]byte(r.Stdout), &p); err != nil {
		s.Fatalf("the plan is no JSON: %v\n%s", err, r)
	}
	out := make([]string, len(p.Steps))
	for i, step := range p.Steps {
		out[i] = step.ID
	}
	return out
}

// lastLines are the last lines of a text, in one.
func lastLines(text string, n int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-n):], " / ")
}
