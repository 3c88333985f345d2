package ops

import (
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

func TestNobodyActsOnAPausedCluster(t *testing.T) {
	t.Parallel()
	for _, fresh := range []bool{true, false} {
		for _, verb := range []v1alpha1.Verb{v1alpha1.VerbScale, v1alpha1.VerbRestart, v1alpha1.VerbDelete} {
			s := well(3).doing(operation(verb), fresh)
			s.Cluster.Spec.Paused, s.Cluster.Spec.Members = true, 5
			judge(t, stub{}, s, nil, "db is paused: a person asked that nobody acts on it")
		}
	}
}

// TestLoopStopsWhenPaused: the person's word comes in the middle.
func TestLoopStopsWhenPaused(t *testing.T) {
	t.Parallel()
	w, op, err, _ := run(t, growing(), func(w *ideal, l *Loop) {
		l.Boundary = func(when string, step Step) {
			if when == "after" && step.Action == ActionRegister {
				w.state.Cluster.Spec.Paused = true
			}
		}
	})
	if KindOf(err) != Refused || op.Status.Phase != v1alpha1.PhasePaused {
		t.Errorf("ends with %v, phase %s", err, op.Status.Phase)
	}
	if n := len(w.performed); n != 2 {
		t.Errorf("it went on: %v", w.performed)
	}
}
