package pki

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/password"
)

// TestSecretsThatAreNotOffered reads secrets of all kinds of owners for a custom resource.
func TestSecretsThatAreNotOffered(t *testing.T) {
	limited := kube.Behalf{Limited: true}
	for _, test := range []struct {
		name   string
		labels map[string]string
		behalf kube.Behalf
		want   error
	}{
		{"of nobody", nil, limited, kube.ErrNotOffered},
		{"of another cluster", map[string]string{v1alpha1.LabelCluster: "other"}, limited, kube.ErrNotOffered},
		{"with another value", map[string]string{v1alpha1.LabelUse: "true"}, limited, kube.ErrNotOffered},
		{"offered", map[string]string{v1alpha1.LabelUse: v1alpha1.UseCluster}, limited, nil},
		{"of the cluster itself", map[string]string{v1alpha1.LabelCluster: "db"}, limited, nil},
		{"of nobody, for a person", nil, kube.Behalf{}, nil},
	} {
		ca, err := NewAuthority("theirs", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "theirs", Labels: test.labels,
			Annotations: map[string]string{AnnotationOnlyFor: "db"}}, Data: map[string][]byte{
			"username": []byte("root"), "password": []byte("hidden"), "tls.crt": ca.Certificate, "tls.key": ca.Key}}
		c, _ := kubetest.New(t, interceptor.Funcs{}, s)
		c.Behalf = test.behalf
		cluster := kubetest.Cluster()
		cluster.Spec.TLS.CASecret = "theirs"
		_, err = password.ForLogin(t.Context(), c, cluster, "theirs")
		if !errors.Is(err, test.want) {
			t.Errorf("%s: password: %v", test.name, err)
		}
		if err != nil && (strings.Contains(err.Error(), "hidden") || !strings.Contains(err.Error(),
			"kubectl label secret theirs -n shop dbop.dev/use=databasecluster")) {
			t.Errorf("%s: %v", test.name, err)
		}
		if err := EnsureCertificates(t.Context(), c, cluster); !errors.Is(err, test.want) {
			t.Errorf("%s: authority: %v", test.name, err)
		}
	}
}

// TestIssuersThatAnOperatorAsks has limited clients ask every kind of issuer.
func TestIssuersThatAnOperatorAsks(t *testing.T) {
	for _, test := range []struct {
		issuer v1alpha1.Issuer
		behalf kube.Behalf
		want   error
	}{
		{v1alpha1.Issuer{Name: "a"}, kube.Behalf{Limited: true}, kube.ErrIssuing},
		{v1alpha1.Issuer{Name: "a", Kind: "ClusterIssuer"}, kube.Behalf{Limited: true}, kube.ErrAuthority},
		{v1alpha1.Issuer{Name: "a", Kind: "Issuer", Group: "example.org"}, kube.Behalf{Limited: true}, kube.ErrAuthority},
		{v1alpha1.Issuer{Name: "a", Kind: "ClusterIssuer"}, kube.Behalf{Limited: true, ClusterIssuers: true},
			kube.ErrIssuing},
		{v1alpha1.Issuer{Name: "a", Kind: "ClusterIssuer"}, kube.Behalf{}, kube.ErrIssuing},
	} {
		c, api := kubetest.New(t, interceptor.Funcs{})
		c.Behalf = test.behalf
		cluster := kubetest.Cluster()
		cluster.Spec.TLS.Issuer = &test.issuer
		if err := EnsureCertificates(t.Context(), c, cluster); !errors.Is(err, test.want) {
			t.Errorf("%+v, %+v: %v", test.issuer, test.behalf, err)
		}
		if asked := requested(t, api) != nil; asked != errors.Is(test.want, kube.ErrIssuing) {
			t.Errorf("%+v, %+v: asked %v", test.issuer, test.behalf, asked)
		}
	}
}
