package etcd

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/flags"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/pod"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/versions"
)

var (
	_ engine.TemplateReader = (*Engine)(nil)
	_ engine.JoinLimiter    = (*Engine)(nil)
)

// Pod implements engine.Renderer.
func (*Engine) Pod(in engine.PodInput) (engine.Pod, error) { return pod.Render(in) }

// Ports implements engine.Renderer.
func (*Engine) Ports(*v1alpha1.DatabaseCluster) []corev1.ServicePort { return pod.Ports() }

// DisableBootstrap implements engine.Renderer.
func (*Engine) DisableBootstrap(template corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	return pod.DisableBootstrap(template)
}

// TemplatePeers implements engine.TemplateReader.
func (*Engine) TemplatePeers(_ *v1alpha1.DatabaseCluster, template corev1.PodTemplateSpec) []string {
	return pod.Peers(template)
}

// InitialJoinLimit implements engine.JoinLimiter.
func (*Engine) InitialJoinLimit(version string) int { return pod.InitialLearners(version) }

// JoinLimit implements engine.JoinLimiter.
func (*Engine) JoinLimit(version string, spec corev1.PodSpec) int {
	return pod.LearnerLimit(version, spec)
}

// Options implements engine.Renderer.
func (*Engine) Options(c *v1alpha1.DatabaseCluster, target string) (map[string]string, error) {
	v, err := versions.Supported(target)
	if err != nil {
		return nil, err
	}
	return flags.Effective(c.Spec, v)
}

// Lint implements engine.Renderer. It names the first offence in the order of
// the alphabet. A flag that a version does not know keeps etcd from starting,
// so this is asked of an upgrade's target before a pod is touched.
func (*Engine) Lint(config map[string]string, target string) error {
	v, err := versions.Supported(target)
	if err != nil {
		return err
	}
	return flags.Lint(config, v)
}
