package pki

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

func TestCertificateSecrets(t *testing.T) {
	t.Parallel()
	secret := func(namespace, name string, kind corev1.SecretType, labels map[string]string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}, Type: kind}
	}
	byType := func(o client.Object) []string {
		// The index sees no type of what is asked for without data.
		if o.GetName() == "password" {
			return []string{string(corev1.SecretTypeOpaque)}
		}
		return []string{string(corev1.SecretTypeTLS)}
	}
	api := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithIndex(&corev1.Secret{}, "type",
		byType).WithObjects(
		secret("shop", "mine", corev1.SecretTypeTLS, nil),
		secret("shop", "password", corev1.SecretTypeOpaque, nil),
		secret("shop", "my-db-ca", corev1.SecretTypeTLS, map[string]string{v1alpha1.LabelCluster: "my-db"}),
		secret("bank", "theirs", corev1.SecretTypeTLS, nil)).Build()
	got, err := CertificateSecrets(t.Context(), kube.Wrap(api, kube.Options{}), "shop")
	if diff := cmp.Diff([]string{"mine"}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
