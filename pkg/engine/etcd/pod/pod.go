// Package pod renders the pod of a member of etcd, and reads what the pod of one says.
package pod

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/addresses"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/versions"
)

// Where things are inside the container. The data directory is below the
// mount point, which a file system may litter with lost+found.
const (
	DataPath = "/var/lib/etcd"
	DataDir  = DataPath + "/data"
	TLSPath  = "/etc/etcd/tls"
	Binaries = "/usr/local/bin/"
)

// graceSeconds is for handing leadership over and closing the data file;
// etcd needs well under a second of it, on a slow disk a few.
const graceSeconds = 30

// NamespaceVariable holds the namespace of the pod.
const NamespaceVariable = "POD_NAMESPACE"

// containerName is the database container's.
const containerName = "etcd"

// Render renders the pod of a member. The image has no shell, so arguments are an
// array, and the kubelet expands nothing but the namespace.
func Render(in engine.PodInput) (engine.Pod, error) {
	v, err := versions.Supported(in.Version)
	if err != nil {
		return engine.Pod{}, fmt.Errorf("render the pod of %s: %w", in.Member, err)
	}
	if !slices.Contains(in.Peers, in.Member) {
		return engine.Pod{}, fmt.Errorf("render the pod of %s: it is not among its peers %s", in.Member,
			strings.Join(in.Peers, ", "))
	}
	if in.Cluster.Status.Bootstrap == nil || in.Cluster.Status.Bootstrap.Token == "" {
		return engine.Pod{}, fmt.Errorf("render the pod of %s: the cluster has no token yet", in.Member)
	}
	args, err := arguments(in, v)
	if err != nil {
		return engine.Pod{}, fmt.Errorf("render the pod of %s: %w", in.Member, err)
	}
	container := corev1.Container{
		Name:    containerName,
		Image:   in.Image,
		Command: []string{Binaries + "etcd"},
		Args:    args,
		Env: []corev1.EnvVar{{Name: NamespaceVariable, ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}}}},
		Resources: *in.Cluster.Spec.Resources.DeepCopy(),
		Ports: []corev1.ContainerPort{
			{Name: "client", ContainerPort: addresses.ClientPort, Protocol: corev1.ProtocolTCP},
			{Name: "peer", ContainerPort: addresses.PeerPort, Protocol: corev1.ProtocolTCP},
			{Name: "metrics", ContainerPort: addresses.MetricsPort, Protocol: corev1.ProtocolTCP},
		},
	}
	if !in.Loopback {
		probe(&container, v) // the kubelet can't reach a pod's loopback
	}
	return engine.Pod{Container: container, DataPath: DataPath, DataDir: DataDir, TLSPath: TLSPath,
		GraceSeconds: graceSeconds}, nil
}

// Ports are the ports of a member.
func Ports() []corev1.ServicePort {
	port := func(name string, n int32) corev1.ServicePort {
		return corev1.ServicePort{Name: name, Port: n, TargetPort: intstr.FromString(name), Protocol: corev1.ProtocolTCP}
	}
	return []corev1.ServicePort{port("client", addresses.ClientPort), port("peer", addresses.PeerPort),
		port("metrics", addresses.MetricsPort)}
}
