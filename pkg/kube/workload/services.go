package workload

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// Names of ports that clients use: for everything, to read what may be a little old, and to ask where the primary is.
const (
	clientPort   = "client"
	readOnlyPort = "readonly"
	sentinelPort = "sentinel"
)

// BuildServices makes the service that carries the members' identities, the one
// where clients only read, if a port asks for it, and at last the one where
// clients go. Members must find each other before they are ready, clients must
// not find them. Where clients are led straight to the primary, its agent says
// which pod the last one selects: until then it is none. Clients of a cluster
// whose place another one has taken go to the members of that one.
func BuildServices(c *v1alpha1.DatabaseCluster, ports []corev1.ServicePort) []*corev1.Service {
	headless, clients := service(c, v1alpha1.HeadlessService(c.Name)), service(c, v1alpha1.ClientService(c.Name))
	readOnly := service(c, v1alpha1.ReadOnlyService(c.Name))
	headless.Spec.ClusterIP = corev1.ClusterIPNone
	headless.Spec.PublishNotReadyAddresses = true
	for _, p := range complete(ports) {
		switch p.Name {
		case clientPort, sentinelPort:
			clients.Spec.Ports = append(clients.Spec.Ports, p)
		case readOnlyPort:
			p.Name = clientPort
			readOnly.Spec.Ports = append(readOnly.Spec.Ports, p)
			continue // a service has each number once
		}
		headless.Spec.Ports = append(headless.Spec.Ports, p)
	}
	if to := c.Spec.RedirectTo; to != "" {
		clients.Spec.Selector, readOnly.Spec.Selector = kube.MemberSelector(to), kube.MemberSelector(to)
	}
	if c.Spec.Direct() {
		clients.Spec.Selector, clients.Spec.PublishNotReadyAddresses = nil, true
	}
	if len(readOnly.Spec.Ports) == 0 {
		return []*corev1.Service{headless, clients}
	}
	return []*corev1.Service{headless, readOnly, clients}
}

func service(c *v1alpha1.DatabaseCluster, name string) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: kube.ObjectMeta(c, name, kube.ObjectLabels(c, kube.ComponentDatabase)),
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, Selector: kube.MemberSelector(c.Name)},
	}
}

// complete sets what the API server would default: the list of ports is merged
// by port and protocol, and a missing protocol would not match on a repeat.
func complete(ports []corev1.ServicePort) []corev1.ServicePort {
	out := make([]corev1.ServicePort, len(ports))
	for i, p := range ports {
		if p.Protocol == "" {
			p.Protocol = corev1.ProtocolTCP
		}
		if p.TargetPort == (intstr.IntOrString{}) {
			p.TargetPort = intstr.FromInt32(p.Port)
		}
		out[i] = p
	}
	return out
}

// ApplyServices makes the services, and what agents lead clients with. A repeat changes nothing.
func ApplyServices(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster,
	ports []corev1.ServicePort) error {
	if err := ApplyAccount(ctx, c, cluster); err != nil {
		return err
	}
	for _, s := range BuildServices(cluster, ports) {
		if err := c.Apply(ctx, cluster, s); err != nil {
			return err
		}
	}
	return nil
}
