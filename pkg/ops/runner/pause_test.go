package runner

import (
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// TestSetPaused: who asked is kept until it is lifted, also where somebody
// else wrote the same at that moment.
func TestSetPaused(t *testing.T) {
	b := opstest.NewBench(t)
	b.Founded(1, "id")
	ada, grace := &v1alpha1.Pause{By: "ada", At: ops.Stamp(opstest.Now())},
		&v1alpha1.Pause{By: "grace", At: ops.Stamp(opstest.Now())}
	for _, c := range []struct {
		by   *v1alpha1.Pause
		new  bool
		want string
	}{{nil, false, ""}, {ada, true, "ada"}, {grace, false, "ada"}, {nil, true, ""}} {
		fresh, err := SetPaused(t.Context(), b.Store(), "shop", "db", c.by)
		b.Must(err)
		if now := b.Cluster(); fresh != c.new || now.Spec.Paused != (c.want != "") ||
			(c.want != "" && now.Status.Pause.By != c.want) || (c.want == "" && now.Status.Pause != nil) {
			t.Errorf("by %v: new %v, then %v %+v", c.by, fresh, now.Spec.Paused, now.Status.Pause)
		}
	}
	fresh, err := SetPaused(t.Context(), &opstest.Overtaken{Store: b.Store()}, "shop", "db", ada)
	b.Must(err)
	if p := b.Cluster().Status.Pause; !fresh || p == nil || p.By != "ada" {
		t.Errorf("overtaken: new %v, %+v", fresh, p)
	}
	want := b.Cluster()
	want.Spec.Paused = false
	c := b.Cluster()
	if !planner.SyncSettings(want.Spec, c, false) || c.Status.Pause != nil {
		t.Errorf("lifted by an edit: %+v", c.Status.Pause)
	}
}

// TestLoopStopsWhenPaused: the person's word comes in the middle.
func TestLoopStopsWhenPaused(t *testing.T) {
	t.Parallel()
	w, op, err, _ := run(t, growing(), func(w *ideal, l *Loop) {
		l.FailPoint = func(when string, step ops.Step) {
			if when == "after" && step.Action == ops.ActionRegister {
				w.state.Cluster.Spec.Paused = true
			}
		}
	})
	if ops.KindOf(err) != ops.Refused || op.Status.Phase != v1alpha1.PhasePaused {
		t.Errorf("ends with %v, phase %s", err, op.Status.Phase)
	}
	if n := len(w.performed); n != 2 {
		t.Errorf("it went on: %v", w.performed)
	}
}
