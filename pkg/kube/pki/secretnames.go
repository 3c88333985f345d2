package pki

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// CertificateSecrets are the names of the secrets of type kubernetes.io/tls that
// are not this tool's: one request, which reads no data of a secret.
func CertificateSecrets(ctx context.Context, c *kube.Client, namespace string) ([]string, error) {
	var all metav1.PartialObjectMetadataList
	all.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := c.API.List(ctx, &all, client.InNamespace(namespace),
		client.MatchingFields{"type": string(corev1.SecretTypeTLS)}); err != nil {
		return nil, err
	}
	var out []string
	for i := range all.Items {
		if all.Items[i].Labels[v1alpha1.LabelCluster] == "" {
			out = append(out, all.Items[i].Name)
		}
	}
	return out, nil
}
