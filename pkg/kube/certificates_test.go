package kube

import (
	"crypto/tls"
	"errors"
	"net"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

func secret(t *testing.T, api client.Client, name string) *corev1.Secret {
	t.Helper()
	s := &corev1.Secret{}
	if err := api.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: name}, s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCertificatesShakeHands(t *testing.T) {
	c, api := newFake(t, interceptor.Funcs{})
	cluster := testCluster()
	if err := c.EnsureCertificates(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	if err := c.EnsureMemberCertificate(t.Context(), cluster, "db-1"); err != nil {
		t.Fatal(err)
	}
	ours, _, err := c.ClientTLS(t.Context(), cluster)
	if err != nil {
		t.Fatal(err)
	}
	s := secret(t, api, v1alpha1.MemberSecret("db-1"))
	pair, err := tls.X509KeyPair(s.Data["tls.crt"], s.Data["tls.key"])
	if err != nil {
		t.Fatal(err)
	}
	ours.ServerName = v1alpha1.MemberHost("db", "shop", "db-1")
	near, far := net.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- tls.Server(far, &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, ClientCAs: ours.RootCAs, ClientAuth: tls.RequireAndVerifyClientCert}).HandshakeContext(t.Context())
	}()
	if err := tls.Client(near, ours).HandshakeContext(t.Context()); err != nil {
		t.Errorf("client: %v", err)
	}
	if err := <-served; err != nil {
		t.Errorf("server: %v", err)
	}
	if s.Type != corev1.SecretTypeTLS || len(s.OwnerReferences) != 0 || s.Annotations[AnnotationClusterID] != "c1" {
		t.Errorf("secret of type %s with owners %v", s.Type, s.OwnerReferences)
	}
}

func TestCertificatesAreNeverReplaced(t *testing.T) {
	c, api := newFake(t, interceptor.Funcs{})
	cluster := testCluster()
	for range 2 {
		if err := c.EnsureCertificates(t.Context(), cluster); err != nil {
			t.Fatal(err)
		}
		if err := c.EnsureMemberCertificate(t.Context(), cluster, "db-1"); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"db-ca", "db-admin-tls", "db-client-tls", "db-1-tls"} {
		if rv := secret(t, api, name).ResourceVersion; rv != "1" {
			t.Errorf("secret %s was written again: resource version %s", name, rv)
		}
	}
}

func TestCertificatesOfAnotherLife(t *testing.T) {
	cluster := testCluster()
	c, api := newFake(t, interceptor.Funcs{})
	if err := c.EnsureCertificates(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	reborn := testCluster()
	reborn.Status.ID = "reborn"
	if err := c.EnsureCertificates(t.Context(), reborn); !errors.Is(err, ErrConflict) {
		t.Errorf("remains of an earlier cluster: %v, want ErrConflict", err)
	}
	if err := api.Delete(t.Context(), secret(t, api, "db-ca")); err != nil {
		t.Fatal(err)
	}
	if err := c.EnsureCertificates(t.Context(), cluster); !errors.Is(err, ErrForeign) {
		t.Errorf("leaves of another authority: %v, want ErrForeign", err)
	}
	c, _ = newFake(t, interceptor.Funcs{}, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db-ca"}})
	if err := c.EnsureCertificates(t.Context(), cluster); !errors.Is(err, ErrForeign) {
		t.Errorf("somebody else's secret: %v, want ErrForeign", err)
	}
}

func TestPlainTextNeedsNoCertificates(t *testing.T) {
	c, api := newFake(t, interceptor.Funcs{})
	cluster := testCluster()
	cluster.Spec.TLS.Disabled = true
	if err := c.EnsureCertificates(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	if err := c.EnsureMemberCertificate(t.Context(), cluster, "db-1"); err != nil {
		t.Fatal(err)
	}
	if config, facts, err := c.ClientTLS(t.Context(), cluster); config != nil || facts != nil || err != nil {
		t.Errorf("client configuration %v, %v; want none", config, err)
	}
	l := &corev1.SecretList{}
	if err := api.List(t.Context(), l); err != nil || len(l.Items) != 0 {
		t.Errorf("%d secrets, %v", len(l.Items), err)
	}
}
