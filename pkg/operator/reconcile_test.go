package operator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// founded is an operator whose cluster of three is well.
func founded(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	b.custom(nil)
	b.settle(idleEvery)
	b.is("True Healthy", "False Settled", "False NotStalled")
	return b
}

func TestReconcile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(*testing.T){
		"makes what is asked for": func(t *testing.T) {
			b := founded(t)
			st := b.get().Status
			if st.Ready != "3/3" || st.ObservedGeneration != 1 || st.Summary != "healthy" || b.verbs() != "create Succeeded" {
				t.Errorf("status %+v after %s", st, b.verbs())
			}
			c, err := b.store.GetCluster(t.Context(), "shop", "db")
			if err != nil || c.Annotations[v1alpha1.AnnotationCustom] != "one" {
				t.Errorf("the record is not linked: %v, %v", c, err)
			}
		},
		"writes nothing while all is well": func(t *testing.T) {
			b := founded(t)
			b.writes = nil
			for range 5 {
				time.Sleep(idleEvery)
				b.settle(idleEvery)
			}
			if len(b.writes) > 0 {
				t.Errorf("it wrote %v", b.writes)
			}
		},
		"never writes what is wanted": func(t *testing.T) {
			b := newBench(t)
			b.custom(nil)
			before := b.get().Spec
			b.settle(idleEvery)
			if !equality.Semantic.DeepEqual(before, b.get().Spec) {
				t.Errorf("the spec became %+v", b.get().Spec)
			}
		},
		"follows edits, one operation after the other": func(t *testing.T) {
			b := founded(t)
			b.edit(func(s *v1alpha1.DatabaseClusterSpec) { s.Members, s.Stopped = 5, false })
			b.settle(idleEvery)
			b.edit(func(s *v1alpha1.DatabaseClusterSpec) { s.Stopped = true })
			b.settle(idleEvery)
			if got := b.verbs(); got != "create Succeeded, scale Succeeded, stop Succeeded" {
				t.Error(got)
			}
			if st := b.get().Status; st.ObservedGeneration != 3 || st.Summary != "stopped" {
				t.Errorf("status %+v", st)
			}
		},
		"is not ready while what was edited meanwhile is still to come": func(t *testing.T) {
			b := founded(t)
			b.edit(func(s *v1alpha1.DatabaseClusterSpec) { s.Members = 5 })
			b.once()
			b.edit(func(s *v1alpha1.DatabaseClusterSpec) { s.Stopped = true })
			for range 200 {
				again := b.once()
				c := b.get()
				for _, o := range c.Status.Conditions {
					if o.Type == conditionReady && o.Status == metav1.ConditionTrue && o.ObservedGeneration == c.Generation &&
						!strings.Contains(b.verbs(), "stop") {
						t.Fatalf("ready as generation %d after %s", c.Generation, b.verbs())
					}
				}
				if again >= idleEvery {
					break
				}
				time.Sleep(lookPause)
			}
			if got := b.verbs(); got != "create Succeeded, scale Succeeded, stop Succeeded" {
				t.Error(got)
			}
		},
		"goes on where another one died": func(t *testing.T) {
			b := founded(t)
			founding := len(b.world.steps)
			b.edit(func(s *v1alpha1.DatabaseClusterSpec) { s.Members = 5 })
			for range 200 {
				b.begin()
				if again := b.once(); again >= idleEvery {
					break
				}
				time.Sleep(lookPause)
			}
			if got := b.verbs(); got != "create Succeeded, scale Succeeded" {
				t.Error(got)
			}
			once := map[string]bool{}
			for _, step := range b.world.steps[founding:] {
				if once[step] {
					t.Errorf("%s was done twice: %v", step, b.world.steps)
				}
				once[step] = true
			}
		},
		"makes a cluster whose operation was never written down": func(t *testing.T) {
			b := newBench(t)
			b.custom(nil)
			for b.record() == nil {
				b.once()
			}
			b.forget()
			b.settle(idleEvery)
			if got := b.verbs(); got != "create Succeeded" {
				t.Error(got)
			}
		},
		"finishes a creation whose operation was lost before the users": func(t *testing.T) {
			b := newBench(t)
			b.custom(func(c *v1alpha1.DatabaseCluster) { c.Spec.Auth.Enabled = true })
			for b.record() == nil || b.record().Status.Bootstrap.ClusterID == "" {
				b.once()
			}
			b.forget()
			b.settle(idleEvery)
			if got := b.verbs(); got != "create Succeeded" {
				t.Error(got)
			}
			if b.world.view.Auth() != engine.AuthOn || b.record().Status.Bootstrap.Unfinished {
				t.Errorf("authentication is %q after %v", b.world.view.Auth(), b.world.steps)
			}
		},
		"steps nothing back for what a cache does not know yet": func(t *testing.T) {
			b := founded(t)
			before := b.get()
			asking := planner.Request{Operation: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbScale,
				SizeParameters: v1alpha1.SizeParameters{Members: 5},
				RequestedBy:    "ada"}}
			s, err := b.r.Runner(opstest.Engine{}, nil, ops.Silent{}).Open(t.Context(), "shop", "db", &asking, nil)
			if err != nil {
				t.Fatal(err)
			}
			b.edit(func(spec *v1alpha1.DatabaseClusterSpec) { spec.Members = 5 })
			if err := s.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			b.r.Custom = interceptor.NewClient(b.api, interceptor.Funcs{Get: func(_ context.Context, _ client.WithWatch,
				_ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
				before.DeepCopyInto(o.(*v1alpha1.DatabaseCluster))
				return nil
			}})
			b.once()
			b.r.Custom = b.api
			b.settle(idleEvery)
			if got := b.verbs(); got != "create Succeeded, scale Succeeded" {
				t.Error(got)
			}
		},
		"says what can't be, and recovers when it is corrected": func(t *testing.T) {
			b := founded(t)
			b.edit(func(s *v1alpha1.DatabaseClusterSpec) { s.Config = map[string]string{"colour": "red"} })
			b.settle(lastDelay)
			b.is("Unknown NotAsWanted", "False Settled", "True Config")
			if m := b.message(conditionStalled); !strings.Contains(m, "did you mean color?") {
				t.Errorf("it says %q", m)
			}
			b.edit(func(s *v1alpha1.DatabaseClusterSpec) { s.Config = nil })
			b.settle(idleEvery)
			b.is("True Healthy", "False Settled", "False NotStalled")
		},
		"backs off from a step that fails": func(t *testing.T) {
			b := founded(t)
			b.world.before = func(s ops.Step) error {
				return &ops.Error{Kind: ops.NeedsHuman, Check: "disk", Message: "the disk is full", Hint: "make room"}
			}
			b.edit(func(s *v1alpha1.DatabaseClusterSpec) { s.Members = 5 })
			var tries, last = 0, time.Duration(0)
			for began := time.Now(); time.Since(began) < time.Hour; tries++ {
				last = b.once()
				time.Sleep(max(last, time.Millisecond))
			}
			if tries > 100 || last != lastDelay {
				t.Errorf("%d tries in an hour, the last pause %s", tries, last)
			}
			b.is("Unknown NotAsWanted", "False Settled", "True Disk")
			b.world.before = nil
			time.Sleep(lastDelay)
			b.settle(idleEvery)
			if got := b.verbs(); got != "create Succeeded, scale Succeeded" {
				t.Error(got)
			}
		},
		"waits for the holder of the lease": func(t *testing.T) {
			b := founded(t)
			b.lockErr = errors.New("ada has it")
			b.edit(func(s *v1alpha1.DatabaseClusterSpec) { s.Members = 5 })
			b.once()
			if steps := len(b.world.steps); b.verbs() != "create Succeeded" || steps == 0 {
				t.Errorf("it acted: %s", b.verbs())
			}
			b.lockErr = nil
			time.Sleep(lastDelay)
			b.settle(idleEvery)
			if got := b.verbs(); got != "create Succeeded, scale Succeeded" {
				t.Error(got)
			}
		},
		"leaves a paused cluster alone": func(t *testing.T) {
			b := founded(t)
			steps := len(b.world.steps)
			b.edit(func(s *v1alpha1.DatabaseClusterSpec) { s.Paused, s.Members = true, 5 })
			b.settle(idleEvery)
			if len(b.world.steps) != steps || b.get().Status.Summary != "paused" {
				t.Errorf("summary %q, steps %v", b.get().Status.Summary, b.world.steps[steps:])
			}
			b.edit(func(s *v1alpha1.DatabaseClusterSpec) { s.Paused = false })
			b.settle(idleEvery)
			if got := b.verbs(); got != "create Succeeded, scale Succeeded" {
				t.Error(got)
			}
		},
		"takes no cluster of the command line's": func(t *testing.T) {
			b := founded(t)
			c, err := b.store.GetCluster(t.Context(), "shop", "db")
			if err != nil {
				t.Fatal(err)
			}
			delete(c.Annotations, v1alpha1.AnnotationCustom)
			if err := b.store.UpdateCluster(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			b.begin()
			b.edit(func(s *v1alpha1.DatabaseClusterSpec) { s.Members = 5 })
			b.once()
			if m := b.message(conditionStalled); b.verbs() != "create Succeeded" ||
				!strings.Contains(m, "operator adopt db") {
				t.Errorf("%s; it says %q", b.verbs(), m)
			}
		},
		"ends a cluster whose object was deleted": func(t *testing.T) {
			b := founded(t)
			b.delete()
			b.settle(idleEvery)
			if got := b.verbs(); got != "create Succeeded, delete Succeeded" {
				t.Error(got)
			}
			if _, err := b.store.GetCluster(t.Context(), "shop", "db"); err == nil {
				t.Error("its record is still there")
			}
		},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
	}
}

// TestWhatBeganComesFirst: a visit to an operation under way goes before those
// to clusters of which nothing is wanted, and before what was asked for again;
// so does the one that tells how it ended.
func TestWhatBeganComesFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.custom(nil)
		reconciliation := func() int {
			r, err := b.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: b.key})
			if err != nil || r.Priority == nil {
				t.Fatalf("priority %v, %v", r.Priority, err)
			}
			return *r.Priority
		}
		if got := reconciliation(); got <= 0 {
			t.Errorf("an operation that began has priority %d, a new one 0", got)
		}
		for range 100 {
			got := reconciliation()
			if meta.IsStatusConditionTrue(b.get().Status.Conditions, conditionReady) {
				break
			}
			if got <= 0 {
				t.Fatalf("before it is told to be ready, it has priority %d", got)
			}
			time.Sleep(time.Second)
		}
		b.settle(idleEvery)
		time.Sleep(lookPause)
		if got := reconciliation(); got >= 0 {
			t.Errorf("a cluster that is well has priority %d, what was asked for 0", got)
		}
	})
}

// TestIdleVisitsSpread: clusters that were observed together are not due together.
func TestIdleVisitsSpread(t *testing.T) {
	t.Parallel()
	due := map[time.Duration]int{}
	for i := range 1000 {
		d := spread(types.NamespacedName{Namespace: "shop", Name: fmt.Sprintf("db-%d", i)}, idleEvery)
		if d < idleEvery || d > idleEvery*5/4 {
			t.Fatalf("due after %s", d)
		}
		due[d.Truncate(time.Second)]++
	}
	for at, n := range due {
		if n > 40 {
			t.Errorf("%d clusters are due within the second after %s", n, at)
		}
	}
}

// TestIdleCostIsBounded: what an operator spends on clusters that are well does
// not grow with their number, as far as none is left alone for too long.
func TestIdleCostIsBounded(t *testing.T) {
	t.Parallel()
	for clusters, want := range map[int]time.Duration{1: idleEvery, 200: idleEvery, 1000: 25 * time.Minute,
		5000: idleMost} {
		if got := idle(clusters); got != want {
			t.Errorf("%d clusters: again after %s, want %s", clusters, got, want)
		}
	}
}

// TestOnlyWhoseIsKept: what an operator keeps of pods and records is who is to be woken.
func TestOnlyWhoseIsKept(t *testing.T) {
	t.Parallel()
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db-1-0", UID: "one",
		ResourceVersion: "7",
		Labels:          map[string]string{v1alpha1.LabelCluster: "db", "other": "x"},
		Annotations:     map[string]string{"long": "text"}}}
	kept, err := onlyWhose(o)
	if err != nil {
		t.Fatal(err)
	}
	m, _ := kept.(*metav1.PartialObjectMetadata)
	if got := clusterOf(t.Context(), m); len(got) != 1 || got[0].Name != "db" || m.ResourceVersion != "7" {
		t.Errorf("wakes %v", got)
	}
	if len(m.Annotations) > 0 || len(m.Labels) != 1 {
		t.Errorf("kept %v %v", m.Labels, m.Annotations)
	}
}
