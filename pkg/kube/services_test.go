package kube

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestBuildServices(t *testing.T) {
	headless, clients := BuildServices(testCluster(), []corev1.ServicePort{{Name: "client", Port: 2379}, {Name: "peer", Port: 2380}})
	golden(t, "service-headless", headless)
	golden(t, "service-client", clients)
}
