package simulation

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/runner"
)

// The name of the only cluster, and how long a wish may take.
const (
	only        = "db"
	wishWithin  = 4 * time.Hour
	equivalents = 60
)

// comparisons is how many worlds are compared: ten times as many where DBOP_TORTURE is set to all.
func comparisons(bounded uint64) uint64 {
	switch {
	case *worldsFlag > 0:
		return uint64(*worldsFlag)
	case os.Getenv("DBOP_TORTURE") == "all":
		return 10 * bounded
	}
	return bounded
}

// life is how one cluster fared.
type life struct {
	told   []string
	stands string
	broken string
	trace  string
	fates  map[string]int
}

// lead plays one cluster in a world of its own, by one of the two drivers, and
// in the end has it deleted.
func lead(t *testing.T, e engine.Engine, seed uint64, careful bool,
	drive func(*person, v1alpha1.DatabaseClusterSpec, []wish) (end func())) life {
	t.Helper()
	var out life
	synctest.Test(t, func(*testing.T) {
		w := newWorld(e, seed, Mischief{})
		p := twin(w, seed, true)
		spec := p.wished(only)
		wishes := p.wishes(only, spec, 2+p.rng.IntN(6))
		p.careful = careful
		end := drive(p, spec, wishes)
		stands := w.stands(only)
		end()
		out = life{told: w.told(only, careful), stands: stands + "; then " + w.stands(only), broken: w.Broken(),
			trace: w.History(*traceFlag), fates: w.Tally()}
	})
	return out
}

// byCommands has every wish typed.
func byCommands(p *person, spec v1alpha1.DatabaseClusterSpec, wishes []wish) func() {
	must := func(what string, run func(context.Context, *runner.Runner) error) {
		if err := p.attempt(run); err != nil {
			defer p.world.lock()()
			p.world.violate("%s: %v", what, err)
		}
	}
	must("create", func(ctx context.Context, r *runner.Runner) error {
		c := p.create(only, spec.Version, int(spec.Members), false)().Cluster
		c.Spec = *spec.DeepCopy()
		_, err := r.Run(ctx, Namespace, planner.Request{Operation: v1alpha1.OperationSpec{Cluster: only,
			Verb: v1alpha1.VerbCreate, SizeParameters: v1alpha1.SizeParameters{Members: spec.Members},
			VersionParameters: v1alpha1.VersionParameters{Version: spec.Version}, Waive: []string{"size"}}, Cluster: c})
		return err
	})
	for _, w := range wishes {
		err := p.attempt(func(ctx context.Context, r *runner.Runner) error {
			req := planner.Request{Operation: w.command}
			req.Operation.Backup = p.backupID()
			_, err := r.Run(ctx, Namespace, req)
			return err
		})
		switch kind := ops.KindOf(err); {
		case err == nil && !w.doomed, w.doomed && kind == ops.Refused:
		case w.doomed && kind == ops.NeedsHuman:
			must("cancel "+w.name, func(ctx context.Context, r *runner.Runner) error {
				_, err := r.Resume(ctx, Namespace, only, true)
				return err
			})
		default:
			unlock := p.world.lock()
			p.world.violate("%s (doomed %v) ends: %v", w.name, w.doomed, err)
			unlock()
		}
	}
	return func() {
		must("delete", func(ctx context.Context, r *runner.Runner) error {
			o := v1alpha1.OperationSpec{Cluster: only, Verb: v1alpha1.VerbDelete, Repository: spec.Backup.Repository,
				Backup: p.backupID()}
			_, err := r.Run(ctx, Namespace, planner.Request{Operation: o})
			return err
		})
	}
}

// byOperator has every wish written into a custom resource. Faults, if there
// are any, end before each wish has to have come true.
func byOperator(p *person, spec v1alpha1.DatabaseClusterSpec, wishes []wish) func() {
	g := p.decided(only)
	violate := func(format string, args ...any) {
		defer p.world.lock()()
		p.world.violate(format, args...)
	}
	rest := func(what string) {
		if err := g.operate(wishWithin, false); err != nil {
			violate("%s: %v", what, err)
		}
	}
	wanted := *spec.DeepCopy()
	g.edit(&wanted)
	p.disturb(g)
	rest("create")
	for _, w := range wishes {
		if w.edit == nil {
			if err := p.ask(w.command); err != nil {
				violate("%s beside the operator: %v", w.name, err)
			}
			p.disturb(g)
			rest(w.name)
			continue
		}
		before := *wanted.DeepCopy()
		w.edit(&wanted)
		g.edit(&wanted)
		p.disturb(g)
		if !w.doomed {
			rest(w.name)
			continue
		}
		if err := g.operate(wishWithin, true); !errors.Is(err, errStalled) {
			violate("%s is doomed, and ends: %v", w.name, err)
		}
		wanted = before
		g.edit(&wanted)
		rest("correction of " + w.name)
	}
	return func() {
		g.edit(nil)
		p.disturb(g)
		rest("delete")
	}
}

// ask writes a request down, as a command beside an operator does, and types
// it again until it is written.
func (p *person) ask(command v1alpha1.OperationSpec) error {
	p.recovering = true // it carries out nothing of its plan
	defer func() { p.recovering = false }()
	for {
		err := p.attempt(func(ctx context.Context, r *runner.Runner) error {
			req := planner.Request{Operation: command}
			req.Operation.Backup = p.backupID()
			s, err := r.Open(ctx, Namespace, only, &req, nil)
			if err != nil {
				return err
			}
			return s.Close(ctx)
		})
		if errors.Is(err, errDead) || !p.careful && err != nil && ops.KindOf(err) != ops.Refused {
			time.Sleep(time.Second)
			continue
		}
		return err
	}
}

// disturb lets an operator, or several after another, work in bad weather for a while.
func (p *person) disturb(g *decided) {
	if p.careful {
		return
	}
	p.world.Storm(0.01, 0.02, 0)
	p.world.spacious() // an alarm waits for a person
	_ = g.operate(time.Duration(p.rng.Int64N(int64(3*time.Minute))), true)
	p.world.Calm()
}

// TestSameSteps: the operator's reconciler takes the very steps that the
// commands take, and ends in the very state.
func TestSameSteps(t *testing.T) { sameSteps(t, etcd.New(), comparisons(equivalents)) }

func sameSteps(t *testing.T, e engine.Engine, worlds uint64) {
	t.Helper()
	wishes := map[string]int{}
	for n := range worlds {
		seed := max(*seedFlag, 1) + n
		a, b := lead(t, e, seed, true, byCommands), lead(t, e, seed, true, byOperator)
		for _, l := range []life{a, b} {
			if l.broken != "" {
				t.Fatalf("seed %d: %s\n%s", seed, l.broken, l.trace)
			}
		}
		if diff := cmp.Diff(a.told, b.told); diff != "" {
			t.Fatalf("seed %d: the steps differ (-commands +operator):\n%s\n%s", seed, diff, b.trace)
		}
		if diff := cmp.Diff(a.stands, b.stands); diff != "" {
			t.Fatalf("seed %d: the ends differ (-commands +operator):\n%s\n%s", seed, diff, b.trace)
		}
		for _, line := range a.told {
			verb, _, _ := strings.Cut(line, ":")
			wishes[verb]++
		}
	}
	t.Logf("%d worlds, each by commands and by an operator: %v", worlds, wishes)
}

// TestSameEnd: an operator that dies, freezes and works in storms ends where
// undisturbed commands end.
func TestSameEnd(t *testing.T) { sameEnd(t, etcd.New(), comparisons(equivalents)) }

func sameEnd(t *testing.T, e engine.Engine, worlds uint64) {
	t.Helper()
	fates := map[string]int{}
	for n := range worlds {
		seed := max(*seedFlag, 1) + n
		a, b := lead(t, e, seed, true, byCommands), lead(t, e, seed, false, byOperator)
		for _, l := range []life{a, b} {
			if l.broken != "" {
				t.Fatalf("seed %d: %s\n%s", seed, l.broken, l.trace)
			}
		}
		if diff := cmp.Diff(a.stands, b.stands); diff != "" {
			t.Fatalf("seed %d: the ends differ (-commands +operator):\n%s\n%s", seed, diff, b.trace)
		}
		for k, v := range b.fates {
			if strings.HasPrefix(k, "process ") {
				fates[k] += v
			}
		}
	}
	var lines []string
	for k, v := range fates {
		lines = append(lines, fmt.Sprintf("%s %d", k, v))
	}
	slices.Sort(lines)
	t.Logf("%d worlds: %v", worlds, lines)
}
