package pod

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// Where an agent finds what it speaks to the API server with.
const (
	apiVolume = "api"
	apiPath   = "/etc/dbop/api"
	// authorityMap is in each namespace: Kubernetes puts the authority of its API server there.
	authorityMap = "kube-root-ca.crt"
)

// tokenSeconds is how long a token counts. The kubelet renews it long before.
const tokenSeconds = 3607

// direct says whether the agent of a member may lead clients straight to it. A witness never is a primary, and nobody
// else reaches a throw-away member.
func direct(in engine.PodInput) bool {
	return in.Cluster.Spec.Direct() && !in.Witness && !in.Loopback
}

// leads says which service an agent leads clients by. A copy of the pod in another namespace must not change that of
// this one.
func leads(in engine.PodInput) map[string]any {
	return map[string]any{
		"namespace": fmt.Sprintf("$(%s)", namespaceVariable), "name": v1alpha1.ClientService(in.Cluster.Name),
		"selector": in.Selector, "label": v1alpha1.LabelMember, "credentials": apiPath,
	}
}

// credentials are the token of the pod's service account, for this one container, and the authority of the API server.
func credentials() corev1.Volume {
	return corev1.Volume{Name: apiVolume, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token",
				ExpirationSeconds: new(int64(tokenSeconds))}},
			{ConfigMap: &corev1.ConfigMapProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: authorityMap},
				Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
		}}}}
}
