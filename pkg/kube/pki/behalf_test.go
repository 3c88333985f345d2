package pki

import (
	"context"
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

// TestSecretsOfTheFormerCluster: a custom resource gets the authority and the passwords of another cluster if that one
// names it, and not by asking for them.
func TestSecretsOfTheFormerCluster(t *testing.T) {
	named := func(successor, id string) func(context.Context, string, string) (*v1alpha1.DatabaseCluster, error) {
		return func(_ context.Context, namespace, name string) (*v1alpha1.DatabaseCluster, error) {
			if namespace != "shop" || name != "former" {
				t.Errorf("the record of %s/%s is read", namespace, name)
			}
			out := kubetest.Cluster()
			out.Name, out.Spec.Successor, out.Status.ID = name, successor, id
			return out, nil
		}
	}
	missing := func(context.Context, string, string) (*v1alpha1.DatabaseCluster, error) { return nil, kube.ErrNotFound }
	broken := errors.New("no answer")
	for _, test := range []struct {
		name   string
		behalf kube.Behalf
		want   error
	}{
		{"for a person", kube.Behalf{}, nil},
		{"nobody can be asked", kube.Behalf{Limited: true}, kube.ErrNotOffered},
		{"it names nobody", kube.Behalf{Limited: true, Record: named("", "f1")}, kube.ErrNotOffered},
		{"it names another one", kube.Behalf{Limited: true, Record: named("other", "f1")}, kube.ErrNotOffered},
		{"it names this one", kube.Behalf{Limited: true, Record: named("db", "f1")}, nil},
		{"an earlier one left them", kube.Behalf{Limited: true, Record: named("db", "f2")}, kube.ErrNotOffered},
		{"it is gone", kube.Behalf{Limited: true, Record: missing}, kube.ErrNotOffered},
		{"its record can't be read", kube.Behalf{Limited: true, Record: func(context.Context, string,
			string) (*v1alpha1.DatabaseCluster, error) {
			return nil, broken
		}}, broken},
	} {
		ca, err := NewAuthority("former", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		secret := func(name string) *corev1.Secret {
			return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name,
				Labels:      map[string]string{v1alpha1.LabelCluster: "former"},
				Annotations: map[string]string{kube.AnnotationClusterID: "f1"}}, Data: map[string][]byte{
				"username": []byte("root"), "password": []byte("hidden"), "tls.crt": ca.Certificate, "tls.key": ca.Key}}
		}
		c, api := kubetest.New(t, interceptor.Funcs{}, secret("former-ca"), secret("former-root"))
		c.Behalf = test.behalf
		cluster := kubetest.Cluster()
		cluster.Spec.Source = &v1alpha1.Source{Cluster: "former"}
		if _, err := password.Ensure(t.Context(), c, cluster, "root", nil); !errors.Is(err, test.want) {
			t.Errorf("%s: password: %v", test.name, err)
		} else if err == nil && string(kubetest.Secret(t, api, "db-root").Data["password"]) != "hidden" {
			t.Errorf("%s: it has another password", test.name)
		}
		err = EnsureCertificates(t.Context(), c, cluster)
		if !errors.Is(err, test.want) {
			t.Errorf("%s: authority: %v", test.name, err)
		}
		if errors.Is(err, kube.ErrNotOffered) && !strings.Contains(err.Error(),
			`kubectl patch dbc former -n shop --type=merge -p '{"spec":{"successor":"db"}}'`) {
			t.Errorf("%s: %v", test.name, err)
		}
		// What is not there yet is no other's, either.
		if err := c.Behalf.CheckSuccession(t.Context(), cluster); !errors.Is(err, test.want) && test.behalf.Record != nil &&
			test.name != "an earlier one left them" {
			t.Errorf("%s: what is to come: %v", test.name, err)
		}
	}
}
