//go:build e2e

package etcd

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

const (
	// badDayRate of the writer while something befalls the cluster.
	badDayRate = 50
	// recoversWithin is how long a cluster may take to be well again once what
	// befell it is over.
	recoversWithin = 90 * time.Second
	// chosenDays and chosenOutages are how many cases the short form tries.
	chosenDays    = 2
	chosenOutages = 1
)

// badDay is one thing that befalls a cluster of three while clients write.
type badDay struct {
	name, version string
	// befall brings it about, asks what must hold meanwhile, and ends it.
	befall func(*trouble)
	// members there are in the end; 0 for three.
	members int
}

// trouble is a scene that something befalls.
type trouble struct {
	*scene

	load    *load
	machine *harness.Machine
	choose  *rand.Rand
	// runs of the tool that changed something, or tried to.
	runs int
}

// TestBadDays lets one member of a cluster come to harm, or all its pods.
func TestBadDays(t *testing.T) {
	t.Parallel()
	live(t, "member", memberDays(), chosenDays, newScene)
}

// TestOutages takes a node's cable out. It disturbs every cluster
// there is, so nothing runs beside it.
func TestOutages(t *testing.T) {
	live(t, "outage", outages(), chosenOutages, newLoneScene)
}

// live goes through bad days: all of them, or a seeded selection.
func live(t *testing.T, kind string, all []badDay, chosen int, newScene func(*testing.T, string, ...string) *scene) {
	t.Helper()
	seed := torture.Seed(t)
	results := &torture.Ledger{}
	t.Cleanup(func() { results.Write(t) })
	choose := rand.New(rand.NewPCG(seed, uint64(len(all)))) // #nosec G404 -- a reproducible choice
	picked := choose.Perm(len(all))
	if named := flag.Lookup("test.run").Value.String(); !torture.Full() && !strings.Contains(named, "/") {
		picked = picked[:min(chosen, len(picked))]
	}
	for i, day := range all {
		if !slices.Contains(picked, i) {
			continue
		}
		t.Run(strings.ReplaceAll(day.name, " ", "-"), func(t *testing.T) {
			day.live(newScene(t, "bad", "my-db"), results, kind, rand.New(rand.NewPCG(seed, uint64(i)))) // #nosec G404 G115
		})
	}
}

// live is one bad day: whatever happens, no acknowledged write may be lost,
// and in the end the cluster is well.
func (d badDay) live(s *scene, results *torture.Ledger, kind string, choose *rand.Rand) {
	machine, err := s.site.Machine()
	if errors.Is(err, harness.ErrNoMachine) {
		s.Skip(err)
	}
	s.ok(err)
	row := torture.Row{Verb: "bad days: " + kind, Where: d.name, Result: "FAILED", Gap: -1}
	defer func() { results.Add(row) }()
	s.create("my-db", d.version, "3")
	x := &trouble{scene: s, machine: machine, choose: choose, load: s.loaded("my-db", choose.Uint64(), badDayRate)}
	s.ok(harness.FillKeys(s.ctx, x.load.db, "kept/", 500, 64))
	began := time.Now()
	d.befall(x)
	x.recovers()
	row.Runs, row.Gap = x.runs, x.load.writer.LongestGap(began, time.Now())
	x.load.end()
	s.ok(harness.Until(s.ctx, settledWithin, "all members to hold the same data", func(ctx context.Context) error {
		return harness.SameData(ctx, x.load.db)
	}))
	want := 3
	if d.members != 0 {
		want = d.members
	}
	s.becomes("my-db", want)
	s.settledVolumes("my-db", want)
	s.Logf("%s: longest write gap %s, over after %s", d.name, row.Gap.Round(time.Millisecond),
		time.Since(began).Round(time.Second))
	if !s.Failed() {
		row.Result = "ok"
	}
}

// recovers waits until the tool finds the cluster healthy.
func (x *trouble) recovers() {
	x.Helper()
	x.within(recoversWithin, "my-db to be healthy", func() error {
		if r := x.try("status", "my-db"); r.Code != 0 {
			return fmt.Errorf("status says:\n%s", r)
		}
		return nil
	})
}

// within asks again and again until a condition holds.
func (s *scene) within(limit time.Duration, what string, holds func() error) {
	s.Helper()
	s.ok(harness.Until(s.ctx, limit, what, func(context.Context) error { return holds() }))
}

// begin starts a changing command, which is told to say what it waits for.
func (x *trouble) begin(args ...string) *harness.Process {
	x.Helper()
	x.runs++
	p, err := x.cli.Start(x.ctx, inNamespace(x.ns, append(slices.Clone(args), "--progress", "plain"))...)
	x.ok(err)
	return p
}

// beginsWith begins a command once the cluster is fit for it, and returns when
// it has said that its first step is in the works.
func (x *trouble) beginsWith(words string, args ...string) *harness.Process {
	x.Helper()
	x.within(podWithin, "the cluster to be fit for "+args[0], func() error {
		if r := x.try(append([]string{"plan"}, args...)...); r.Code != 0 {
			return fmt.Errorf("the plan says:\n%s", r)
		}
		return nil
	})
	p := x.begin(args...)
	x.hears(p, words)
	return p
}

// hears waits until a command that runs has said something.
func (x *trouble) hears(p *harness.Process, words string) {
	x.Helper()
	if err := untilSaid(x.ctx, p, words); err != nil {
		_ = p.Signal(os.Interrupt)
		_, _ = p.Wait()
		x.Fatal(err)
	}
}

// ends waits for a command that was started, and asks for its exit code.
func (x *trouble) ends(p *harness.Process, code int) harness.Result {
	x.Helper()
	r, err := p.Wait()
	x.ok(err)
	x.Logf("%s", r)
	if r.Code != code {
		x.Fatalf("expected exit code %d", code)
	}
	return r
}

// finds asks diagnose for words, and for one that a member is named with.
func (x *trouble) finds(within time.Duration, words ...string) {
	x.Helper()
	x.within(within, "diagnose to tell what is wrong", func() error {
		r := x.try("diagnose", "my-db")
		for _, w := range words {
			if !strings.Contains(r.Stdout, w) {
				return fmt.Errorf("%q is missing:\n%s", w, r)
			}
		}
		return nil
	})
}

// refusing asks that verbs which need a whole cluster touch nothing.
func (x *trouble) refusing(words ...string) {
	x.Helper()
	for _, args := range [][]string{{"scale", "my-db", "--members", "5"},
		{"upgrade", "my-db", "--version", "3.7", "--skip-backup"}} {
		// On a machine that is short of time there may be no leader for a moment,
		// which is a reason to refuse, too, but not the one that is asked for.
		x.within(podWithin, strings.Join(args, " ")+" to be refused for what is wrong", func() error {
			r := x.try(args...)
			if r.Code != 4 {
				x.Fatalf("it was not refused:\n%s", r)
			}
			for _, w := range words {
				if !strings.Contains(r.Stderr, w) {
					return fmt.Errorf("%q is missing:\n%s", w, r)
				}
			}
			return nil
		})
	}
}

// member picks a member that leads, or one that does not.
func (x *trouble) member(leads bool) string {
	x.Helper()
	leader := x.leader("my-db")
	if leads {
		return leader
	}
	var rest []string
	for _, m := range x.status("my-db").Members {
		if m.Name != leader {
			rest = append(rest, m.Name)
		}
	}
	return rest[x.choose.IntN(len(rest))]
}
