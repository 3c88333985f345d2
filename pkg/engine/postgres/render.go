package postgres

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/agreed/pod"
)

const (
	// port is where the server takes clients, in the pod and on the services.
	port = 5432
	// user is the ID of postgres in the images.
	user = 999
	// volume is where a member's volume is mounted.
	volume = "/var/lib/postgresql"
)

// Pod implements engine.Renderer.
func (*Engine) Pod(in engine.PodInput) (engine.Pod, error) {
	v, ok := parse(in.Version)
	if !ok {
		return engine.Pod{}, fmt.Errorf("render the pod of %s: %q is no version of PostgreSQL", in.Member, in.Version)
	}
	initial, err := settings(in.Cluster.Spec.Config)
	if err != nil {
		return engine.Pod{}, fmt.Errorf("render the pod of %s: %w", in.Member, err)
	}
	listen := "*"
	if in.Loopback {
		listen = "127.0.0.1"
		delete(initial.Values, "archive_mode") // nobody takes the log of a throw-away member
	}
	return pod.Render(in, pod.Database{
		Container: Name, User: user, Volume: volume, Port: port, Key: Name, Settings: initial,
		Config: map[string]any{"bin": fmt.Sprintf("/usr/lib/postgresql/%d/bin", v.major), "listen": listen, "port": port},
	})
}

// DisableBootstrap implements engine.Renderer.
func (*Engine) DisableBootstrap(template corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	return pod.DisableBootstrap(template)
}

// Ports implements engine.Renderer.
func (*Engine) Ports(c *v1alpha1.DatabaseCluster) []corev1.ServicePort { return pod.Ports(c, port) }
