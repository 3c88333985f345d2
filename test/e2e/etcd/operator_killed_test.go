//go:build e2e

package etcd

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// takenOverWithin is how long after a kill somebody else goes on.
const takenOverWithin = 20 * time.Second

// edit is one wish of which an operator dies.
type edit struct {
	name string
	// plan is the command that means the same, whose steps are the fail points.
	plan []string
	// change is the edit; nil for what only a command can ask for.
	change func(*v1alpha1.DatabaseClusterSpec)
	check  func(*scene)
}

// edits are wishes, each to a cluster as the one before left it.
func edits() []edit {
	members := func(n int) func(*scene) { return func(s *scene) { s.healthy("my-db", n) } }
	all := func(s *scene) { s.healthy("my-db", int(s.custom().get("my-db").Spec.Members)) }
	version := func(v string) func(*v1alpha1.DatabaseClusterSpec) {
		return func(s *v1alpha1.DatabaseClusterSpec) { s.Version = v }
	}
	return []edit{
		{"scale up", []string{"scale", "my-db", "--members", "3"}, func(s *v1alpha1.DatabaseClusterSpec) { s.Members = 3 },
			members(3)},
		{"configure", []string{"configure", "my-db", "--set", "snapshot-count=20000", "--allow-downtime"},
			func(s *v1alpha1.DatabaseClusterSpec) { s.Config = map[string]string{"snapshot-count": "20000"} },
			func(s *scene) { s.runsWith("my-db", "snapshot-count=20000") }},
		{"resize", []string{"resize", "my-db", "--storage", "1Gi", "--allow-downtime"},
			func(s *v1alpha1.DatabaseClusterSpec) { s.Storage.Size = resource.MustParse("1Gi") }, members(3)},
		{"restart", []string{"restart", "my-db", "--allow-downtime"}, nil, all},
		{"switchover", []string{"switchover", "my-db"}, nil, all},
		{"rotate certificates", []string{"certificates", "rotate", "my-db"}, nil,
			func(s *scene) { s.liveCertificates("my-db", "served") }},
		{"upgrade", []string{"upgrade", "my-db", "--version", "3.7.3", "--skip-backup", "--allow-downtime"},
			version("3.7.3"),
			func(s *scene) { s.runs("my-db", "3.7") }},
		{"downgrade", []string{"downgrade", "my-db", "--version", "3.6.16", "--skip-backup", "--allow-downtime"},
			version("3.6.16"), func(s *scene) { s.runs("my-db", "3.6") }},
		{"auth enable", []string{"user", "auth", "enable", "my-db", "--yes"},
			func(s *v1alpha1.DatabaseClusterSpec) { s.Auth.Enabled = true }, func(s *scene) { s.demands("my-db", "on") }},
		{"auth disable", []string{"user", "auth", "disable", "my-db", "--yes"},
			func(s *v1alpha1.DatabaseClusterSpec) { s.Auth.Enabled = false }, func(s *scene) { s.demands("my-db", "off") }},
		{"stop", []string{"stop", "my-db", "--yes"}, func(s *v1alpha1.DatabaseClusterSpec) { s.Stopped = true },
			func(*scene) {}},
		{"start", []string{"start", "my-db"}, func(s *v1alpha1.DatabaseClusterSpec) { s.Stopped = false }, members(3)},
		{"scale down", []string{"scale", "my-db", "--members", "1", "--yes"},
			func(s *v1alpha1.DatabaseClusterSpec) { s.Members = 1 }, members(1)},
	}
}

// TestOperatorKilled: a cluster of the command line is adopted; its operators
// die between a deed and the record of it, each time another goes on; and it is
// released again. No pod restarts for the two moves.
func TestOperatorKilled(t *testing.T) {
	s := newScene(t, "opkill", "my-db")
	seed := torture.Seed(t)
	choose := rand.New(rand.NewPCG(seed, 11))
	s.definitions()
	s.create("my-db", "3.6", "1")
	before := s.databasePods("my-db")
	s.must("operator", "adopt", "my-db")
	s.ok(s.custom().patch("my-db", func(spec *v1alpha1.DatabaseClusterSpec) {
		spec.Waive = []string{"backup",
			"downtime"}
	}))
	wishes, few := edits(), 0
	if torture.Full() {
		var cancel context.CancelFunc
		s.ctx, cancel = context.WithTimeout(context.WithoutCancel(s.ctx), time.Hour)
		t.Cleanup(cancel)
	} else {
		// One wish that a cluster of one member can have, and one fail point of it.
		wishes, few = []edit{wishes[[]int{0, 0, 0, 1, 3, 5, 8}[choose.IntN(7)]]}, 1
	}
	results := &torture.Ledger{}
	t.Cleanup(func() { results.Write(t) })
	for i, e := range wishes {
		results.Add(e.die(s, choose, few))
		if i == 0 && e.name == "scale up" {
			after := s.databasePods("my-db")
			maps.DeleteFunc(after, func(name, _ string) bool { return before[name] == "" })
			if !maps.Equal(before, after) {
				t.Errorf("pods before %v, after %v", before, after)
			}
		}
	}
	before = s.databasePods("my-db")
	s.must("operator", "release", "my-db")
	if after := s.databasePods("my-db"); !maps.Equal(before, after) {
		t.Errorf("pods before the release %v, after %v", before, after)
	}
	s.must("scale", "my-db", "--members", "1", "--yes")
}

// definitions makes sure that custom resources are served.
func (s *scene) definitions() {
	s.Helper()
	s.mustKubectl("apply", "--server-side", "--force-conflicts", "-f", s.site.Root+"/deploy/crd")
	s.served("databaseclusters.dbop.dev")
	s.served("databasebackups.dbop.dev")
}

// operating is the operator as a process of this machine, which dies at the
// first of the points that it reaches.
func (s *scene) operating(points ...string) *harness.Process {
	s.Helper()
	cli := s.mortal(points...)
	cli.Env["DBOP_REPOSITORY"] = "" // a pod has no directory of this machine
	return s.begin(cli, "operator", "run", "--watch", s.ns, "--lease-namespace", s.ns, "--metrics-address", "0",
		"--health-address", "0")
}

// die has the wish carried out by operators of which each dies at the first
// fail point where none died yet, few of them or, for 0, at every fail point that
// is reached; the last one ends it.
func (e edit) die(s *scene, choose *rand.Rand, few int) torture.Row {
	s.Helper()
	points := torture.FailPoints(s.plan(e.plan...))
	if few > 0 {
		points = points[choose.IntN(len(points)):]
	}
	known := strings.Count(s.must("history", "my-db").Stdout, "\n")
	over := func(context.Context) error {
		if r := s.try("history", "my-db"); strings.Count(r.Stdout, "\n") != known+1 ||
			strings.Contains(r.Stdout, "Running") || strings.Contains(r.Stdout, "Paused") {
			return fmt.Errorf("of %d operations before:\n%s", known-1, r.Stdout)
		}
		return nil
	}
	c := s.custom()
	op := s.operating(points...)
	s.ok(untilSaid(s.ctx, op, "Starting workers"))
	var asking *harness.Process
	if e.change == nil {
		s.noticed(c)
		asking = s.begin(s.cli, e.plan...)
	} else {
		s.ok(c.patch("my-db", e.change))
	}
	deaths, longest := 0, time.Duration(0)
	for {
		s.ok(harness.Until(s.ctx, readyWithin, e.name+" to end, or the operator", func(ctx context.Context) error {
			if op.Ended() {
				return nil
			}
			return over(ctx)
		}))
		if !op.Ended() {
			break
		}
		r, err := op.Wait()
		s.ok(err)
		point := torture.DiedAt(r)
		i := slices.Index(points, point)
		if i < 0 {
			s.Fatalf("%s: the operator was to die at one of %v:\n%s", e.name, points, r)
		}
		if deaths++; deaths == few {
			points = points[:i] // and go on to the end
		}
		points = slices.DeleteFunc(points, func(p string) bool { return p == point })
		died := time.Now()
		op = s.operating(points...)
		s.ok(harness.Until(s.ctx, takenOverWithin, "somebody to go on", func(context.Context) error {
			// The first word of a new operator about the cluster, or its last.
			for _, word := range []string{`"step":`, `"msg":"planned"`, `"msg":"over"`} {
				if strings.Contains(op.Stderr(), word) {
					return nil
				}
			}
			return fmt.Errorf("it says:\n%s", op.Stderr())
		}))
		longest = max(longest, time.Since(died))
		s.Logf("%s: died at %s, taken over after %s", e.name, point, time.Since(died).Round(100*time.Millisecond))
	}
	s.Logf("%s: %d deaths, never at %v", e.name, deaths, points)
	// Only within and after a step nobody may be met: it is done when that is
	// seen, and may take one try. Before it somebody always is.
	if deaths == 0 || slices.ContainsFunc(points, func(p string) bool { return strings.HasPrefix(p, "before:") }) {
		s.Errorf("%s: %d operators died, none at %v", e.name, deaths, points)
	}
	if asking != nil {
		if r, err := asking.Wait(); err != nil || r.Code != 0 {
			s.Errorf("%s: the command that asked for it: %v\n%s", e.name, err, r)
		}
	}
	e.check(s)
	s.ok(op.Signal(os.Signal(syscall.SIGTERM)))
	if r, err := op.Wait(); err != nil || r.Code != 0 {
		s.Errorf("told to stop: %v\n%s", err, r)
	}
	result := fmt.Sprintf("ok, taken over within %.1f s", longest.Seconds())
	if s.Failed() {
		result = "FAILED"
	}
	return torture.Row{Verb: "operators that die", Where: fmt.Sprintf("%s, at %d fail points, one by one", e.name, deaths),
		Runs: deaths + 1, Result: result, Gap: -1}
}

// noticed waits until the operator has taken notice, so that a command knows of it.
func (s *scene) noticed(c *custom) {
	s.Helper()
	s.ok(harness.Until(s.ctx, readyWithin, "the operator to take notice", func(context.Context) error {
		if o := c.get("my-db"); o.Status.Operator == "" || o.Status.ObservedGeneration != o.Generation {
			return fmt.Errorf("%+v", o.Status)
		}
		return nil
	}))
}
