package kube

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// TestSecretsThatAreNotOffered reads secrets of all kinds of owners for a custom resource.
func TestSecretsThatAreNotOffered(t *testing.T) {
	limited := Behalf{Limited: true}
	for _, test := range []struct {
		name   string
		labels map[string]string
		behalf Behalf
		want   error
	}{
		{"of nobody", nil, limited, ErrNotOffered},
		{"of another cluster", map[string]string{v1alpha1.LabelCluster: "other"}, limited, ErrNotOffered},
		{"with another value", map[string]string{v1alpha1.LabelUse: "true"}, limited, ErrNotOffered},
		{"offered", map[string]string{v1alpha1.LabelUse: v1alpha1.UseCluster}, limited, nil},
		{"of the cluster itself", map[string]string{v1alpha1.LabelCluster: "db"}, limited, nil},
		{"of nobody, for a person", nil, Behalf{}, nil},
	} {
		ca, err := newAuthority("theirs", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "theirs", Labels: test.labels, Annotations: map[string]string{AnnotationOnlyFor: "db"}}, Data: map[string][]byte{
			"username": []byte("root"), "password": []byte("hidden"), "tls.crt": ca.certificate, "tls.key": ca.key}}
		c, _ := newFake(t, interceptor.Funcs{}, s)
		c.behalf = test.behalf
		cluster := testCluster()
		cluster.Spec.TLS.CASecret = "theirs"
		_, err = c.LoginPasswords(t.Context(), cluster, "theirs")
		if !errors.Is(err, test.want) {
			t.Errorf("%s: password: %v", test.name, err)
		}
		if err != nil && (strings.Contains(err.Error(), "hidden") || !strings.Contains(err.Error(), "kubectl label secret theirs -n shop dbop.dev/use=databasecluster")) {
			t.Errorf("%s: %v", test.name, err)
		}
		if err := c.EnsureCertificates(t.Context(), cluster); !errors.Is(err, test.want) {
			t.Errorf("%s: authority: %v", test.name, err)
		}
	}
}

// TestIssuersThatAnOperatorAsks has limited clients ask every kind of issuer.
func TestIssuersThatAnOperatorAsks(t *testing.T) {
	for _, test := range []struct {
		issuer v1alpha1.Issuer
		behalf Behalf
		want   error
	}{
		{v1alpha1.Issuer{Name: "a"}, Behalf{Limited: true}, ErrIssuing},
		{v1alpha1.Issuer{Name: "a", Kind: "ClusterIssuer"}, Behalf{Limited: true}, ErrAuthority},
		{v1alpha1.Issuer{Name: "a", Kind: "Issuer", Group: "example.org"}, Behalf{Limited: true}, ErrAuthority},
		{v1alpha1.Issuer{Name: "a", Kind: "ClusterIssuer"}, Behalf{Limited: true, ClusterIssuers: true}, ErrIssuing},
		{v1alpha1.Issuer{Name: "a", Kind: "ClusterIssuer"}, Behalf{}, ErrIssuing},
	} {
		c, api := newFake(t, interceptor.Funcs{})
		c.behalf = test.behalf
		cluster := testCluster()
		cluster.Spec.TLS.Issuer = &test.issuer
		if err := c.EnsureCertificates(t.Context(), cluster); !errors.Is(err, test.want) {
			t.Errorf("%+v, %+v: %v", test.issuer, test.behalf, err)
		}
		if asked := requested(t, api) != nil; asked != errors.Is(test.want, ErrIssuing) {
			t.Errorf("%+v, %+v: asked %v", test.issuer, test.behalf, asked)
		}
	}
}
