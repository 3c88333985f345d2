package planner

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// contents is what the volume of a member really holds, whatever the record says.
type contents int

const (
	asBefore contents = iota
	halfway           // converted in part, which can be taken back
	started           // by the later version, for good
)

// walk is an upgrade that links, with a process that dies inside of steps, and a person who changes their mind.
type walk struct {
	t     *testing.T
	rng   *rand.Rand
	s     ops.State
	holds contents
	// served: a client may have written to the new version.
	served bool
	// converted are the members whose volumes were converted, in all tries.
	converted map[string]bool
	did       []string
}

// TestLinkWalk: wherever processes die and whichever way it is to go, no version starts on data of the other one, no
// volume is dropped that the former version could use, and it ends as it is told last.
func TestLinkWalk(t *testing.T) {
	t.Parallel()
	ends := map[string]int{}
	for seed := range uint64(3000) {
		w := &walk{t: t, rng: rand.New(rand.NewPCG(seed, 1)), s: linking(t),
			converted: map[string]bool{}} // #nosec G404 -- a test
		end := w.run()
		if t.Failed() {
			t.Fatalf("seed %d: %v", seed, w.did)
		}
		ends[end]++
	}
	t.Log(ends)
	for _, end := range []string{"upgraded", "back", "back without the volume", "no way back"} {
		if ends[end] == 0 {
			t.Errorf("none ends %s: %v", end, ends)
		}
	}
}

// run rechanges how it ended.
func (w *walk) run() string {
	changes := w.rng.IntN(4)
	for range 400 {
		if changes > 0 && w.rng.IntN(12) == 0 && Verbs().Cancellable(w.s.Operation) == nil {
			changes--
			w.reverse()
		}
		d := Decide(opstest.Converting{}, w.s)
		switch {
		case d.Blocked != nil && d.Blocked.Check == "ran-again":
			w.reverse()
		case d.Blocked != nil && w.s.Cancelling() && (d.Blocked.Check == ops.WaiverWayBack ||
			d.Blocked.Check == "volumes" && len(w.converted) == 2): // of three
			if w.reverse(); changes == 0 {
				return "no way back"
			}
		case d.Blocked != nil:
			w.t.Errorf("blocked: %v", d.Blocked)
			return ""
		case d.Step == nil && !w.s.Cancelling():
			return w.ended("2.0.0", "upgraded")
		case d.Step == nil && w.holds == started:
			return w.ended("1.1.0", "back without the volume")
		case d.Step == nil:
			return w.ended("1.1.0", "back")
		default:
			w.perform(*d.Step)
		}
	}
	w.t.Error("it does not end")
	return ""
}

// reverse has the person want the other way.
func (w *walk) reverse() {
	op := w.s.Operation
	if op.Status.Phase == v1alpha1.PhaseCancelling {
		op.Status.Phase = v1alpha1.PhaseRunning
	} else {
		op.Status.Phase = v1alpha1.PhaseCancelling
	}
	ApplyTo(w.s.Cluster, op)
	w.did = append(w.did, string(op.Status.Phase))
}

// ended checks that members run a version.
func (w *walk) ended(version, how string) string {
	if w.s.Cluster.Spec.Version != version {
		w.t.Errorf("%s: the cluster wants %s", how, w.s.Cluster.Spec.Version)
	}
	for _, m := range w.s.Kube.Members {
		if m.Workload.Exists && m.Workload.Version != version {
			w.t.Errorf("%s: %s runs %s", how, m.Name, m.Workload.Version)
		}
	}
	return how
}

// perform does a step in full, or dies inside of it.
func (w *walk) perform(step ops.Step) {
	w.did = append(w.did, step.ID)
	dies := w.rng.IntN(3) == 0
	f := w.s.Bootstrap()
	const name = "db-1"
	switch {
	case step.Action == ops.ActionConvert:
		w.converted[step.Member()] = true
		if dies {
			w.partly(step, w.rng.IntN(4))
			return
		}
		w.holds = started
	case step.Action == ops.ActionRevert:
		if w.holds != started {
			w.holds = asBefore
		}
		if dies {
			w.journal(step)
			return
		}
		w.s = Predict(opstest.Converting{}, w.s, step)
		if w.holds == started {
			w.s.Cluster.Status.Bootstrap.InPlace = v1alpha1.InPlaceFinal
		}
		return
	case step.Action == ops.ActionOldIncarnation && f.InPlace == v1alpha1.InPlaceReverted && dies:
		w.journal(step) // the volume has the former token, and the record is not written
		w.s.Kube.Members[w.s.MemberIndex(name)].Volume.Token = w.s.Operation.Spec.FromIncarnation.Bootstrap.Token
		return
	case step.Action == ops.ActionStart && slices.Contains(step.Members, name):
		newer := w.s.Cluster.Spec.Version == "2.0.0"
		if newer != (w.holds == started) || w.holds == halfway {
			w.t.Errorf("version %s starts on data that is %v", w.s.Cluster.Spec.Version, w.holds)
		}
		w.served = w.served || newer
	case step.Action == ops.ActionDeleteVolume && (w.holds != started || w.served || !slices.Equal(step.Members,
		[]string{name})):
		w.t.Errorf("%v are dropped, and the volume of %s is %v, a client may have written: %t", step.Members, name, w.holds,
			w.served)
	}
	w.s = Predict(opstest.Converting{}, w.s, step)
}

// partly does the first parts of a conversion: the record, the token, a pod that comes as far as the second start.
func (w *walk) partly(step ops.Step, parts int) {
	w.journal(step)
	w.did = append(w.did, fmt.Sprintf("died after %d parts", parts))
	if parts > 0 {
		w.s.Cluster.Status.Bootstrap.InPlace = v1alpha1.InPlaceAsked
	}
	if parts > 1 {
		w.s.Kube.Members[w.s.MemberIndex("db-1")].Volume.Token = w.s.Bootstrap().Token
		w.holds = max(w.holds, halfway)
	}
	if parts > 2 {
		w.holds = started
	}
}

// journal notes that a step was started.
func (w *walk) journal(step ops.Step) {
	j := &w.s.Operation.Status.Journal
	*j = append(slices.Clone(*j), v1alpha1.JournalEntry{Step: step.ID})
}
