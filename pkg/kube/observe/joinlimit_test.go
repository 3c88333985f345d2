package observe

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// TestJoinLimits: template and pod are read each for itself, each with its version.
func TestJoinLimits(t *testing.T) {
	spec := func(args ...string) corev1.PodSpec {
		return corev1.PodSpec{Containers: []corev1.Container{{Args: args}}}
	}
	w := appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "db-1"}}
	w.Spec.Template.Spec = spec("a", "b")
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "db-1-0", UID: "u",
		Annotations: map[string]string{kube.AnnotationVersion: "v"}}, Spec: spec("a")}
	s := &snapshot{workloads: appsv1.StatefulSetList{Items: []appsv1.StatefulSet{w}},
		pods: corev1.PodList{Items: []corev1.Pod{p}}}
	f := Facts{Members: []Member{{Name: "db-1", Workload: Workload{Exists: true, Version: "newer"},
		Pod: Pod{Exists: true, UID: "u", Version: "v"}}, {Name: "db-2"}}}
	s.joinLimits(&f, Rendered{JoinLimit: func(version string, pod corev1.PodSpec) int {
		return 10*len(version) + len(pod.Containers[0].Args)
	}})
	if m := f.Members[0]; m.Workload.JoinLimit != 52 || m.Pod.JoinLimit != 11 {
		t.Errorf("template %d, pod %d; want 52 and 11", m.Workload.JoinLimit, m.Pod.JoinLimit)
	}
	if limit, told := f.Members[0].JoinLimit(); limit != 11 || !told {
		t.Errorf("the member %d, %t; want the least of them", limit, told)
	}
	if _, told := f.Members[1].JoinLimit(); told {
		t.Error("a member without pod and template was told something")
	}
}
