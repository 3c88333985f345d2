package ops

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// rendered is a cluster whose members are as this program renders them.
func rendered(change func(*State)) State {
	s := well(3)
	s.Rendering = "ours"
	for i := range s.Kube.Members {
		s.Kube.Members[i].Workload.Rendering, s.Kube.Members[i].Pod.Rendering = "ours", "ours"
	}
	if change != nil {
		change(&s)
	}
	return s
}

func TestDrifted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state State
		want  []string
	}{
		"as ever":                   {state: rendered(nil)},
		"another program's":         {state: rendered(func(s *State) { s.Rendering = "new" }), want: []string{"db-1", "db-2", "db-3"}},
		"from before there was one": {state: rendered(func(s *State) { s.Kube.Members[1].Workload.Rendering = "" }), want: []string{"db-2"}},
		"template renewed, pod not": {state: rendered(func(s *State) { s.Kube.Members[2].Pod.Rendering = "old" }), want: []string{"db-3"}},
		"no pod":                    {state: rendered(func(s *State) { s.Kube.Members[2].Pod = kube.Pod{} })},
		"an upgrade's business":     {state: rendered(func(s *State) { s.Rendering = "new"; s.Kube.Members[0].Workload.Version = "1.0.0" }), want: []string{"db-2", "db-3"}},
		"another epoch's": {state: rendered(func(s *State) {
			s.Rendering = "new"
			s.Kube.Members[0].Workload.Token = "x"
			s.Kube.Members[0].Volume.Token = "x"
		}), want: []string{"db-2", "db-3"}},
		"nothing can be rendered":      {state: rendered(func(s *State) { s.Rendering = "" })},
		"there is no cluster any more": {state: State{Rendering: "new"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, c.state.Drifted()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestRenderingDigest: it changes with what pods are made of, and with nothing else.
func TestRenderingDigest(t *testing.T) {
	t.Parallel()
	digest := func(change func(*v1alpha1.DatabaseCluster), image string) string {
		c := well(3).Cluster
		if change != nil {
			change(c)
		}
		d, err := RenderingDigest(&database{}, c, image)
		if err != nil || d == "" {
			t.Fatalf("%q, %v", d, err)
		}
		return d
	}
	usual := digest(nil, "image")
	for name, change := range map[string]func(*v1alpha1.DatabaseCluster){
		"nothing": nil,
		"size":    func(c *v1alpha1.DatabaseCluster) { c.Spec.Members = 5 },
		"pause":   func(c *v1alpha1.DatabaseCluster) { c.Spec.Paused = true },
		"backups": func(c *v1alpha1.DatabaseCluster) { c.Spec.Backup.Repository = "pvc:b" },
	} {
		if digest(change, "image") != usual {
			t.Errorf("%s changes it", name)
		}
	}
	if digest(nil, "other") == usual || digest(func(c *v1alpha1.DatabaseCluster) { c.Spec.AntiAffinity = "Required" }, "image") == usual {
		t.Error("another template has the same digest")
	}
}

// TestRestartRenders: a plan says which members get another template, and
// settings that come with it are judged before.
func TestRestartRenders(t *testing.T) {
	t.Parallel()
	asked := func(change func(*State)) State {
		s := rendered(change)
		s.Operation = operation(v1alpha1.VerbRestart)
		s.Operation.Spec.Pods = map[string]string{}
		for i := range s.Kube.Members {
			s.Kube.Members[i].Pod.UID = "old"
			s.Operation.Spec.Pods[s.Kube.Members[i].Name] = "old"
		}
		return s
	}
	renews := func(s State) []string {
		var out []string
		for _, step := range MakePlan(stub{}, s).Steps {
			if step.Action == ActionRestart && slices.Contains(step.Touches, "statefulset/"+step.Members[0]) && step.Reason != "" {
				out = append(out, step.Members[0])
			}
		}
		return out
	}
	if got := renews(asked(nil)); got != nil {
		t.Errorf("%v are renewed for nothing", got)
	}
	if diff := cmp.Diff([]string{"db-3", "db-1"}, renews(asked(func(s *State) {
		s.Kube.Members[1].Workload.Rendering, s.Rendering = "new", "new"
		s.Kube.Members[1].Pod.Rendering = "new"
	}))); diff != "" {
		t.Error(diff)
	}
	settings := func(s *State) {
		s.Rendering = "new"
		s.Cluster.Spec.Config = map[string]string{"room": "none"}
	}
	judge(t, stub{}, asked(settings), nil, "db-1 has too much data")
	judge(t, stub{}, asked(func(s *State) {
		settings(s)
		s.Kube.Members[1].Workload.Rendering, s.Kube.Members[1].Pod.Rendering = "new", "new"
	}), nil, "db-1 has too much data")
	judge(t, stub{}, asked(func(s *State) {
		settings(s)
		for i := range s.Kube.Members {
			s.Kube.Members[i].Workload.Settings = s.settings(stub{})
		}
	}), []string{"restart-member/db-2", "restart-member/db-3", "hand-over/db-2", "restart-member/db-1"}, "")
}

// TestRenderingIsKept: what is applied carries the digest that is compared later.
func TestRenderingIsKept(t *testing.T) {
	b := newBench(t)
	b.founded(2, "id")
	b.running("db-1", "db-2")
	if s := b.observe(b.live()); s.Rendering == "" || len(s.Drifted()) > 0 {
		t.Fatalf("rendering %q, drifted %v", s.Rendering, s.Drifted())
	}
	b.renderedElsewhere("db-1")
	if diff := cmp.Diff([]string{"db-1"}, b.observe(b.live()).Drifted()); diff != "" {
		t.Error(diff)
	}
}

// renderedElsewhere makes members those of another version, pods and all.
func (b *bench) renderedElsewhere(members ...string) {
	b.t.Helper()
	for _, name := range members {
		edit(b, &appsv1.StatefulSet{}, name, func(w *appsv1.StatefulSet) {
			w.Annotations[kube.AnnotationRendering], w.Spec.Template.Annotations[kube.AnnotationRendering] = "older", "older"
		})
		edit(b, &corev1.Pod{}, v1alpha1.PodName(name), func(p *corev1.Pod) { p.Annotations[kube.AnnotationRendering] = "older" })
	}
}

// asksRestart is a restart of the pod that a member has now.
func (b *bench) asksRestart(member string) {
	b.t.Helper()
	b.op = operation(v1alpha1.VerbRestart)
	p := &corev1.Pod{}
	b.exists(p, v1alpha1.PodName(member))
	b.op.Spec.Pods = map[string]string{member: string(p.UID)}
}
