package ops

import (
	"context"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
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

func TestWhoPaused(t *testing.T) {
	t.Parallel()
	s := well(3).doing(operation(v1alpha1.VerbRestart), true)
	s.Cluster.Spec.Paused, s.Cluster.Status.Pause = true, &v1alpha1.Pause{By: "ada", From: "laptop", At: stamp(now())}
	judge(t, stub{}, s, nil, "db is paused: ada@laptop, at "+moment(now())+", asked that nobody acts on it")
}

// TestSetPaused: who asked is kept until it is lifted, also where somebody
// else wrote the same at that moment.
func TestSetPaused(t *testing.T) {
	b := newBench(t)
	b.founded(1, "id")
	ada, grace := &v1alpha1.Pause{By: "ada", At: stamp(now())}, &v1alpha1.Pause{By: "grace", At: stamp(now())}
	for _, c := range []struct {
		by   *v1alpha1.Pause
		new  bool
		want string
	}{{nil, false, ""}, {ada, true, "ada"}, {grace, false, "ada"}, {nil, true, ""}} {
		fresh, err := SetPaused(t.Context(), b.store(), "shop", "db", c.by)
		b.must(err)
		if now := b.cluster(); fresh != c.new || now.Spec.Paused != (c.want != "") || (c.want != "" && now.Status.Pause.By != c.want) || (c.want == "" && now.Status.Pause != nil) {
			t.Errorf("by %v: new %v, then %v %+v", c.by, fresh, now.Spec.Paused, now.Status.Pause)
		}
	}
	fresh, err := SetPaused(t.Context(), &overtaken{Store: b.store()}, "shop", "db", ada)
	b.must(err)
	if p := b.cluster().Status.Pause; !fresh || p == nil || p.By != "ada" {
		t.Errorf("overtaken: new %v, %+v", fresh, p)
	}
	want := b.cluster()
	want.Spec.Paused = false
	c := b.cluster()
	if !Inherit(want.Spec, c) || c.Status.Pause != nil {
		t.Errorf("lifted by an edit: %+v", c.Status.Pause)
	}
}

// overtaken is a store where somebody else pauses first.
type overtaken struct {
	kube.Store
	done bool
}

func (o *overtaken) UpdateCluster(ctx context.Context, c *v1alpha1.DatabaseCluster) error {
	if !o.done {
		o.done = true
		other := c.DeepCopy()
		other.Status.Pause = nil
		if err := o.Store.UpdateCluster(ctx, other); err != nil {
			return err
		}
	}
	return o.Store.UpdateCluster(ctx, c)
}

// TestLoopStopsWhenPaused: the person's word comes in the middle.
func TestLoopStopsWhenPaused(t *testing.T) {
	t.Parallel()
	w, op, err, _ := run(t, growing(), func(w *ideal, l *Loop) {
		l.FailPoint = func(when string, step Step) {
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
