package kube

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// CertificateSecrets are the names of the secrets of type kubernetes.io/tls that
// are not this tool's: one request, which reads no data of a secret.
func (c *Client) CertificateSecrets(ctx context.Context, namespace string) ([]string, error) {
	var all metav1.PartialObjectMetadataList
	all.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := c.api.List(ctx, &all, client.InNamespace(namespace), client.MatchingFields{"type": string(corev1.SecretTypeTLS)}); err != nil {
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
