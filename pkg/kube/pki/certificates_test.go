package pki

import (
	"crypto/tls"
	"errors"
	"net"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
)

func TestCertificatesShakeHands(t *testing.T) {
	c, api := kubetest.New(t, interceptor.Funcs{})
	cluster := kubetest.Cluster()
	if err := EnsureCertificates(t.Context(), c, cluster); err != nil {
		t.Fatal(err)
	}
	if err := EnsureMemberCertificate(t.Context(), c, cluster, "db-1"); err != nil {
		t.Fatal(err)
	}
	ours, _, err := ClientTLS(t.Context(), c, cluster)
	if err != nil {
		t.Fatal(err)
	}
	s := kubetest.Secret(t, api, v1alpha1.MemberSecret("db-1"))
	pair, err := tls.X509KeyPair(s.Data["tls.crt"], s.Data["tls.key"])
	if err != nil {
		t.Fatal(err)
	}
	ours.ServerName = v1alpha1.MemberHost("db", "shop", "db-1")
	near, far := net.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- tls.Server(far, &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair},
			ClientCAs: ours.RootCAs, ClientAuth: tls.RequireAndVerifyClientCert}).HandshakeContext(t.Context())
	}()
	if err := tls.Client(near, ours).HandshakeContext(t.Context()); err != nil {
		t.Errorf("client: %v", err)
	}
	if err := <-served; err != nil {
		t.Errorf("server: %v", err)
	}
	if s.Type != corev1.SecretTypeTLS || len(s.OwnerReferences) != 0 || s.Annotations[kube.AnnotationClusterID] != "c1" {
		t.Errorf("secret of type %s with owners %v", s.Type, s.OwnerReferences)
	}
}

func TestCertificatesAreNeverReplaced(t *testing.T) {
	c, api := kubetest.New(t, interceptor.Funcs{})
	cluster := kubetest.Cluster()
	for range 2 {
		if err := EnsureCertificates(t.Context(), c, cluster); err != nil {
			t.Fatal(err)
		}
		if err := EnsureMemberCertificate(t.Context(), c, cluster, "db-1"); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"db-ca", "db-admin-tls", "db-client-tls", "db-1-tls"} {
		if rv := kubetest.Secret(t, api, name).ResourceVersion; rv != "1" {
			t.Errorf("secret %s was written again: resource version %s", name, rv)
		}
	}
}

func TestCertificatesOfAnotherLife(t *testing.T) {
	cluster := kubetest.Cluster()
	c, api := kubetest.New(t, interceptor.Funcs{})
	if err := EnsureCertificates(t.Context(), c, cluster); err != nil {
		t.Fatal(err)
	}
	reborn := kubetest.Cluster()
	reborn.Status.ID = "reborn"
	if err := EnsureCertificates(t.Context(), c, reborn); !errors.Is(err, kube.ErrConflict) {
		t.Errorf("remains of an earlier cluster: %v, want ErrConflict", err)
	}
	if err := api.Delete(t.Context(), kubetest.Secret(t, api, "db-ca")); err != nil {
		t.Fatal(err)
	}
	if err := EnsureCertificates(t.Context(), c, cluster); !errors.Is(err, kube.ErrForeign) {
		t.Errorf("leaves of another authority: %v, want ErrForeign", err)
	}
	c, _ = kubetest.New(t, interceptor.Funcs{}, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop",
		Name: "db-ca"}})
	if err := EnsureCertificates(t.Context(), c, cluster); !errors.Is(err, kube.ErrForeign) {
		t.Errorf("somebody else's secret: %v, want ErrForeign", err)
	}
}

func TestPlainTextNeedsNoCertificates(t *testing.T) {
	c, api := kubetest.New(t, interceptor.Funcs{})
	cluster := kubetest.Cluster()
	cluster.Spec.TLS.Disabled = true
	if err := EnsureCertificates(t.Context(), c, cluster); err != nil {
		t.Fatal(err)
	}
	if err := EnsureMemberCertificate(t.Context(), c, cluster, "db-1"); err != nil {
		t.Fatal(err)
	}
	if config, facts, err := ClientTLS(t.Context(), c, cluster); config != nil || facts != nil || err != nil {
		t.Errorf("client configuration %v, %v; want none", config, err)
	}
	l := &corev1.SecretList{}
	if err := api.List(t.Context(), l); err != nil || len(l.Items) != 0 {
		t.Errorf("%d secrets, %v", len(l.Items), err)
	}
}
