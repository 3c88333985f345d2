package simulation

import (
	"context"
	"errors"
	"flag"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/agreed"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/runner"
	"github.com/dbop-dev/kubectl-dbop/test/simulation/replicated"
)

var recoveriesFlag = flag.Int("recoveries", 150, "worlds that lose their quorum for good")

// bereaved plays one world: a cluster that loses volumes until its quorum is
// gone for good, and a person who types recover until it serves again.
func bereaved(t *testing.T, e engine.Engine, seed uint64, decide decider) (broken, trace string, tally map[string]int) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		w := newWorld(e, seed, Mischief{})
		rng := rand.New(rand.NewPCG(seed, 5))
		p := &person{world: w, rng: rng, decide: decide, careful: true}
		size := []int{1, 3, 3, 5}[rng.IntN(4)]
		err := p.attempt(func(ctx context.Context, r *runner.Runner) error {
			_, err := r.Run(ctx, Namespace, p.create("a", e.Catalog().Default, size, false)())
			return err
		})
		if err == nil {
			p.bereave(size)
		} else {
			w.violate("no cluster to lose: %v", err)
		}
		broken, trace, tally = w.Broken(), w.History(*traceFlag), w.Tally()
	})
	return broken, trace, tally
}

// bereave backs up, lets clients write, takes volumes, and recovers.
func (p *person) bereave(size int) {
	w := p.world
	backup := p.backupID()
	if err := p.attempt(func(ctx context.Context, r *runner.Runner) error {
		_, err := r.Run(ctx, Namespace, planner.Request{Operation: v1alpha1.OperationSpec{Cluster: "a",
			Verb: v1alpha1.VerbBackup, Repository: "pvc:backups", Backup: backup}})
		return err
	}); err != nil {
		unlock := w.lock()
		w.violate("no backup to fall back on: %v", err)
		unlock()
		return
	}
	time.Sleep(time.Duration(p.rng.Int64N(int64(time.Minute))))
	kept, usable := p.ruin(size)
	time.Sleep(time.Duration(p.rng.Int64N(int64(time.Minute))))
	p.careful = false
	var err error
	named := ""
	for range 40 {
		method := v1alpha1.RecoverData
		if usable == 0 {
			method = v1alpha1.RecoverBackup
		}
		err = p.attempt(func(ctx context.Context, r *runner.Runner) error {
			spec := v1alpha1.OperationSpec{Cluster: "a", Verb: v1alpha1.VerbRecover,
				RecoverParameters: v1alpha1.RecoverParameters{Method: method},
				Repository:        "pvc:backups", Member: named,
				Backup: p.backupID()}
			if method == v1alpha1.RecoverBackup {
				spec.Source = &v1alpha1.BackupSource{Repository: "pvc:backups", Backup: backup}
			}
			_, err := r.Run(ctx, Namespace, planner.Request{Operation: spec})
			return err
		})
		if err == nil || ops.KindOf(err) == ops.Unchanged {
			break
		}
		if told, ok := errors.AsType[*ops.Error](err); ok && told.Check == "diverged" {
			named = p.chooses(kept)
		}
		time.Sleep(20 * time.Second)
	}
	defer w.lock()()
	if err != nil && ops.KindOf(err) != ops.Unchanged {
		w.violate("%d of %d volumes are left, %d of use, and it does not recover: %v", len(kept), size, usable, err)
		return
	}
	w.recovered(size, kept)
}

// chooses names a volume of use: nobody else knows which writes are worth more.
func (p *person) chooses(kept map[string]*data) string {
	defer p.world.lock()()
	p.world.tally["diverged"]++
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		if !kept[name].broken {
			return name
		}
	}
	return ""
}

// ruin leaves fewer volumes than a majority, with logs of any length and term,
// some of them of no use, and returns what is kept and how many of it are of use.
func (p *person) ruin(size int) (kept map[string]*data, usable int) {
	w := p.world
	defer w.lock()()
	left := p.rng.IntN(size/2 + size%2)
	kept = map[string]*data{}
	var ends []agreed.Fork
	for i, end := range []int{p.rng.IntN(10), 10 + p.rng.IntN(10)} {
		ends = append(ends, agreed.Fork{Timeline: uint64(i + 1), End: uint64(end)})
	}
	for i, at := range p.rng.Perm(size) {
		s := w.find(v1alpha1.MemberName("a", at+1))
		w.struck(s)
		if i >= left {
			s.volume = nil
		} else {
			d := s.volume.data
			d.term, d.index, d.broken = 1+p.rng.IntN(3), d.index-p.rng.IntN(d.index), p.rng.IntN(4) == 0
			if w.hasAgents() && d.term > 1 {
				d.forks = ends[:d.term-1]
				d.index = max(d.index, int(ends[d.term-2].End)+1)
			}
			kept[s.name] = d
			if !d.broken {
				usable++
			}
		}
		if s.pod != nil {
			w.deletePod(s)
		}
	}
	for _, g := range w.groups {
		g.damaged, g.acked = true, 0 // what is lost now is told to the person
	}
	w.logf("%d of %d volumes are left, %d of use", left, size, usable)
	return kept, usable
}

// recovered checks that a cluster serves again and the old volumes are as they were.
func (w *world) recovered(size int, kept map[string]*data) {
	c := w.records.clusters["a"]
	for _, g := range w.groups {
		if g.token != c.Status.Bootstrap.Token {
			continue
		}
		if c.Status.Bootstrap.Incarnation == 0 || g.voters() != size || w.leads(g) == nil {
			w.violate("incarnation %d has %d of %d voters, leader %q", c.Status.Bootstrap.Incarnation, g.voters(), size,
				g.leader)
		}
	}
	for name, d := range kept {
		if s := w.find(name); s == nil || s.volume == nil || s.volume.data != d || s.volume.deleting {
			w.violate("the volume that %s kept was touched", name)
		}
	}
	w.tally["recovered"]++
}

// TestRecovery loses quorums for good.
func TestRecovery(t *testing.T) { loseQuorums(t, etcd.New()) }

// TestAgentsRecovery does that to a primary with replicas, where data may have diverged.
func TestAgentsRecovery(t *testing.T) { loseQuorums(t, replicated.New()) }

func loseQuorums(t *testing.T, e engine.Engine) {
	t.Helper()
	tally := map[string]int{}
	for seed := max(*seedFlag, 1); seed < max(*seedFlag, 1)+uint64(*recoveriesFlag); seed++ {
		broken, trace, more := bereaved(t, e, seed, planner.Decide)
		if broken != "" {
			t.Fatalf("%s\n\n%s\n\nreproduce: go test ./test/simulation -run %s -args -seed %d -recoveries 1 -trace 400",
				broken, trace, t.Name(), seed)
		}
		for k, v := range more {
			tally[k] += v
		}
	}
	t.Log(tally)
}

// TestRecoveryMistakes makes one mistake at a time; each must be caught.
func TestRecoveryMistakes(t *testing.T) {
	for name, m := range map[string]struct {
		engine engine.Engine
		decide decider
	}{
		"the first data rather than the best":        {etcd.New(), firstData},
		"old volumes taken for the new ones":         {etcd.New(), oldVolumes},
		"agents: the first data":                     {replicated.New(), firstData},
		"agents: diverged data that nobody chose":    {replicated.New(), divergedData},
		"agents: old volumes taken for the new ones": {replicated.New(), oldVolumes},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := uint64(1); seed < 300; seed++ {
				if broken, _, _ := bereaved(t, m.engine, seed, m.decide); broken != "" {
					t.Logf("caught in world %d: %s", seed, broken)
					return
				}
			}
			t.Error("not caught")
		})
	}
}

func firstData(e engine.Engine, s ops.State) ops.Decision {
	d := planner.Decide(e, s)
	if d.Step == nil || d.Step.Action != ops.ActionRecoverData {
		return d
	}
	step := *d.Step
	step.Members = health.AssessLoss(e, s).Kept[:1]
	return ops.Decision{Step: &step}
}

// divergedData takes the first of those that have diverged.
func divergedData(e engine.Engine, s ops.State) ops.Decision {
	d := planner.Decide(e, s)
	if d.Blocked == nil || d.Blocked.Check != "diverged" {
		return d
	}
	s.Operation = s.Operation.DeepCopy()
	for _, name := range health.AssessLoss(e, s).Kept {
		s.Operation.Spec.Member = name
		if d = planner.Decide(e, s); d.Step != nil {
			return d
		}
	}
	return d
}

// oldVolumes takes every volume for one of the present incarnation, and every member
// that the database does not list for one whose removal was written down, so
// that its volume is deleted. Each rule alone keeps the volume.
func oldVolumes(e engine.Engine, s ops.State) ops.Decision {
	s.Kube.Members = slices.Clone(s.Kube.Members)
	s.Cluster = s.Cluster.DeepCopy()
	for i := range s.Kube.Members {
		m := &s.Kube.Members[i]
		if !m.Volume.Exists || !s.View.Quorum {
			continue
		}
		m.Volume.Token = s.Cluster.Status.Bootstrap.Token
		if _, listed := s.View.Registered(m.Name); !listed {
			s.Cluster.Status.Bootstrap.Removing = append(s.Cluster.Status.Bootstrap.Removing, m.Name)
		}
	}
	return planner.Decide(e, s)
}
