package pod

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// source is what the agents are told of the source of a cluster. A cluster of this tool is reached by its client
// service, in the namespace that the pod is in.
func source(c *v1alpha1.DatabaseCluster, port int32) protocol.Source {
	from := c.Spec.Source
	if from.Cluster == "" {
		return protocol.Source{Address: from.Address, User: from.User, TLS: from.TLS}
	}
	return protocol.Source{
		Address: fmt.Sprintf("%s.$(%s).svc:%d", v1alpha1.ClientService(from.Cluster), namespaceVariable, port),
		User:    v1alpha1.AdminUser, TLS: !c.Spec.TLS.Disabled,
	}
}

// sourceSecret is the volume with what the source of the cluster asks for, at every member that may follow it. The
// secrets may be gone once that is over.
func sourceSecret(in engine.PodInput) (corev1.Volume, bool) {
	from := in.Cluster.Spec.Source
	if from == nil || from.Secret == "" && from.Cluster == "" || in.Witness || in.Loopback {
		return corev1.Volume{}, false
	}
	out := corev1.Volume{Name: "source"}
	if from.Cluster == "" {
		out.Secret = &corev1.SecretVolumeSource{SecretName: from.Secret, Optional: new(true)}
		return out, true
	}
	part := func(secret, key string) corev1.VolumeProjection {
		return corev1.VolumeProjection{Secret: &corev1.SecretProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: secret}, Optional: new(true),
			Items: []corev1.KeyToPath{{Key: key, Path: key}}}}
	}
	out.Projected = &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
		part(v1alpha1.PasswordSecret(from.Cluster, v1alpha1.AdminUser), corev1.BasicAuthPasswordKey)}}
	if !in.Cluster.Spec.TLS.Disabled {
		out.Projected.Sources = append(out.Projected.Sources, part(v1alpha1.ClientSecret(from.Cluster), "ca.crt"))
	}
	return out, true
}
