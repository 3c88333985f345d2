package runner

import (
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// hearer keeps what is waited for.
type hearer struct {
	ops.Silent
	said []string
}

func (h *hearer) Waiting(_ ops.Step, why string) { h.said = append(h.said, why) }

// TestLoopWaitsForANodeThatWasCutOff: a node that takes the majority with it in
// the middle of an upgrade, and comes back, does not end the upgrade. One that
// does not come back does, with what to do about it.
func TestLoopWaitsForANodeThatWasCutOff(t *testing.T) {
	t.Parallel()
	// missed is how long Kubernetes takes to call a silent node not ready.
	const missed = 20 * time.Second
	cut := func(h *hearer, d time.Duration) func(*ideal, *Loop) {
		return func(w *ideal, l *Loop) {
			l.Reporter = h
			var since time.Time
			l.FailPoint = func(when string, step ops.Step) {
				if when == "after" && step.Action == ops.ActionUpgrade && since.IsZero() {
					since = time.Now()
				}
			}
			var whole *ops.State
			w.observe = func() error {
				if whole != nil {
					w.state.View, w.state.Kube = whole.View, whole.Kube
					whole = nil
				}
				w.calm = 2 * time.Second
				if gone := time.Since(since); !since.IsZero() && gone < d {
					w.calm = -1
					s := planner.Clone(w.state)
					whole = &s
					w.state = planner.Clone(w.state)
					w.state.View.Quorum = false
					for _, name := range []string{"db-1", "db-2"} {
						w.state.View.Members[inView(w.state, name)].Reachable = false
						if gone > missed {
							w.state.Kube.Members[w.state.MemberIndex(name)].Pod.Problem = &observe.Problem{Kind: observe.ProblemNode,
								Message: "node n1 is not ready", Since: since.Add(missed)}
						}
					}
				}
				return nil
			}
		}
	}
	h := &hearer{}
	_, op, err, took := run(t, opstest.Upgrading(3, nil, func(*ops.State) {})(), cut(h, 41*time.Second))
	if err != nil || op.Status.Phase != v1alpha1.PhaseSucceeded || took < 41*time.Second {
		t.Errorf("cut off for 41 s: %v after %s, %s", err, took, op.Status.Phase)
	}
	if said := strings.Join(h.said, "\n"); !strings.Contains(said, "no quorum") ||
		!strings.Contains(said, "node n1 is not ready") {
		t.Errorf("it waits, and says %q", said)
	}
	_, op, err, took = run(t, opstest.Upgrading(3, nil, func(*ops.State) {})(), cut(h, time.Hour))
	if ops.KindOf(err) != ops.NeedsHuman || !strings.Contains(opstest.HintOf(err), "bring the node back") ||
		took > rules.WaitDeadline+time.Minute || op.Status.Phase != v1alpha1.PhasePaused {
		t.Errorf("cut off for good: %v after %s, hint %q", err, took, opstest.HintOf(err))
	}
}

// inView is the place of a member in the view.
func inView(s ops.State, name string) int {
	for i, m := range s.View.Members {
		if m.Name == name {
			return i
		}
	}
	return -1
}
