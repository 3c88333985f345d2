package replicated

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// bootstrapFlag lets the agent of an initial member begin a group.
const bootstrapFlag = "--bootstrap"

// Pod implements engine.Renderer: the agent, with the server below it unless it is a witness.
func (e Engine) Pod(in engine.PodInput) (engine.Pod, error) {
	if in.Cluster.Status.Bootstrap == nil {
		return engine.Pod{}, fmt.Errorf("render the pod of %s: the cluster has no token yet", in.Member)
	}
	args := []string{"--token=" + in.Cluster.Status.Bootstrap.Token, "--peers=" + strings.Join(in.Peers, ",")}
	if in.Bootstrap {
		args = append(args, bootstrapFlag)
	}
	if in.Witness {
		args = append(args, "--witness")
	}
	for _, name := range slices.Sorted(maps.Keys(in.Cluster.Spec.Config)) {
		args = append(args, "--set="+name+"="+in.Cluster.Spec.Config[name])
	}
	container := corev1.Container{Name: "database", Image: in.Image, Args: args,
		Resources: *in.Cluster.Spec.Resources.DeepCopy()}
	return engine.Pod{Container: container, DataPath: "/data", DataDir: "/data/pg", TLSPath: "/tls",
		GraceSeconds: 60}, nil
}

// DisableBootstrap implements engine.Renderer.
func (Engine) DisableBootstrap(template corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	sealed := *template.DeepCopy()
	for i := range sealed.Spec.Containers {
		c := &sealed.Spec.Containers[i]
		c.Args = slices.DeleteFunc(c.Args, func(a string) bool { return a == bootstrapFlag })
	}
	return sealed
}

// Ports implements engine.Renderer.
func (Engine) Ports(*v1alpha1.DatabaseCluster) []corev1.ServicePort {
	return []corev1.ServicePort{
		{Name: "client", Port: 5432, TargetPort: intstr.FromInt32(5432)},
		{Name: "agent", Port: 5433, TargetPort: intstr.FromInt32(5433)},
	}
}

// Options implements engine.Renderer.
func (Engine) Options(c *v1alpha1.DatabaseCluster, _ string) (map[string]string, error) {
	return maps.Clone(c.Spec.Config), nil
}

// Lint implements engine.Renderer.
func (Engine) Lint(map[string]string, string) error { return nil }
