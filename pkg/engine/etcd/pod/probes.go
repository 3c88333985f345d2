package pod

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/addresses"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/versions"
)

// startBudget is how many seconds a member may take to start: opening,
// checking and catching up with a data file of many gigabytes. A shorter
// budget would kill it again and again at the same place.
const startBudget = 1800

// probe adds the probes. Liveness never asks for quorum: restarting members
// because others are down makes an outage worse.
func probe(c *corev1.Container, v versions.Version) {
	alive, ready := get("/livez"), get("/readyz")
	if v.Less(versions.LivezFloor) {
		alive = corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(addresses.MetricsPort)}}
		ready = get("/health")
	}
	c.StartupProbe = &corev1.Probe{ProbeHandler: alive, PeriodSeconds: 1, TimeoutSeconds: 1,
		FailureThreshold: startBudget}
	c.LivenessProbe = &corev1.Probe{ProbeHandler: alive, PeriodSeconds: 10, TimeoutSeconds: 5, FailureThreshold: 6}
	c.ReadinessProbe = &corev1.Probe{ProbeHandler: ready, PeriodSeconds: 2, TimeoutSeconds: 2, FailureThreshold: 3}
}

func get(path string) corev1.ProbeHandler {
	return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
		Path: path, Port: intstr.FromInt32(addresses.MetricsPort), Scheme: corev1.URISchemeHTTP,
	}}
}
