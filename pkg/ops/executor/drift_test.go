package executor

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

func TestDrifted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state ops.State
		want  []string
	}{
		"as ever": {state: opstest.Rendered(nil)},
		"another program's": {state: opstest.Rendered(func(s *ops.State) { s.Rendering = "new" }),
			want: []string{"db-1", "db-2", "db-3"}},
		"from before there was one": {state: opstest.Rendered(func(
			s *ops.State) {
			s.Kube.Members[1].Workload.Rendering = ""
		}), want: []string{"db-2"}},
		"template renewed, pod not": {state: opstest.Rendered(func(s *ops.State) { s.Kube.Members[2].Pod.Rendering = "old" }),
			want: []string{"db-3"}},
		"no pod": {state: opstest.Rendered(func(s *ops.State) { s.Kube.Members[2].Pod = observe.Pod{} })},
		"an upgrade's business": {state: opstest.Rendered(func(
			s *ops.State) {
			s.Rendering = "new"
			s.Kube.Members[0].Workload.Version = "1.0.0"
		}), want: []string{"db-2", "db-3"}},
		"another incarnation's": {state: opstest.Rendered(func(s *ops.State) {
			s.Rendering = "new"
			s.Kube.Members[0].Workload.Token = "x"
			s.Kube.Members[0].Volume.Token = "x"
		}), want: []string{"db-2", "db-3"}},
		"nothing can be rendered":      {state: opstest.Rendered(func(s *ops.State) { s.Rendering = "" })},
		"there is no cluster any more": {state: ops.State{Rendering: "new"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, rules.Drifted(c.state)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestRenderingDigest: it changes with what pods are made of, and with nothing else.
func TestRenderingDigest(t *testing.T) {
	t.Parallel()
	digest := func(change func(*v1alpha1.DatabaseCluster), image string) string {
		c := opstest.Well(3).Cluster
		if change != nil {
			change(c)
		}
		d, err := rules.RenderingDigest(&opstest.Database{}, c, image, "tool")
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
	if digest(nil, "other") == usual || digest(func(c *v1alpha1.DatabaseCluster) { c.Spec.AntiAffinity = "Required" },
		"image") == usual {
		t.Error("another template has the same digest")
	}
}

// TestRenderingIsKept: what is applied carries the digest that is compared later.
func TestRenderingIsKept(t *testing.T) {
	b := opstest.NewBench(t)
	b.Founded(2, "id")
	running(b, "db-1", "db-2")
	if s := observation(b, liveOf(b)); s.Rendering == "" || len(rules.Drifted(s)) > 0 {
		t.Fatalf("rendering %q, drifted %v", s.Rendering, rules.Drifted(s))
	}
	renderedElsewhere(b, "db-1")
	if diff := cmp.Diff([]string{"db-1"}, rules.Drifted(observation(b, liveOf(b)))); diff != "" {
		t.Error(diff)
	}
}

// renderedElsewhere makes members those of another version, pods and all.
func renderedElsewhere(b *opstest.Bench, members ...string) {
	b.T.Helper()
	for _, name := range members {
		opstest.Edit(b, &appsv1.StatefulSet{}, name, func(w *appsv1.StatefulSet) {
			w.Annotations[kube.AnnotationRendering], w.Spec.Template.Annotations[kube.AnnotationRendering] = "older", "older"
		})
		opstest.Edit(b, &corev1.Pod{}, v1alpha1.PodName(name),
			func(p *corev1.Pod) { p.Annotations[kube.AnnotationRendering] = "older" })
	}
}

// asksRestart is a restart of the pod that a member has now.
func asksRestart(b *opstest.Bench, member string) {
	b.T.Helper()
	b.Op = opstest.Operation(v1alpha1.VerbRestart)
	p := &corev1.Pod{}
	b.Exists(p, v1alpha1.PodName(member))
	b.Op.Spec.Pods = map[string]string{member: string(p.UID)}
}
