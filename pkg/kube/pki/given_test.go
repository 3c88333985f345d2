package pki

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
)

func given(t *testing.T, name string, p KeyPair) *corev1.Secret {
	t.Helper()
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{"tls.crt": p.Certificate, "tls.key": p.Key}}
}

// TestGivenAuthorityOfOneCluster uses an authority that may not sign others, once
// a person said that it is there for this cluster alone.
func TestGivenAuthorityOfOneCluster(t *testing.T) {
	own, err := NewAuthority("corporate", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	other, err := NewAuthority("other", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	mine := given(t, "mine", own)
	c, api := kubetest.New(t, interceptor.Funcs{}, mine)
	cluster := kubetest.Cluster()
	cluster.Spec.TLS.CASecret = "mine"
	if err := EnsureCertificates(t.Context(), c, cluster); !errors.Is(err, kube.ErrAuthority) ||
		!strings.Contains(err.Error(), "kubectl annotate secret mine -n shop dbop.dev/only-for=db") {
		t.Fatal(err)
	}
	mine = kubetest.Secret(t, api, "mine")
	mine.Annotations = map[string]string{AnnotationOnlyFor: "db"}
	if err := api.Update(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	if err := EnsureCertificates(t.Context(), c, cluster); err != nil {
		t.Fatal(err)
	}
	trust, leaves := read(t, c, cluster)
	if trust.Current.Subject != "CN=corporate" || leaves["db-client-tls"].Issuer != "CN=corporate" ||
		*trust.Given != trust.Current {
		t.Errorf("trust %+v", trust)
	}
	s := kubetest.Secret(t, api, "mine")
	if s.ResourceVersion != mine.ResourceVersion {
		t.Errorf("the person's secret was written: %s", s.ResourceVersion)
	}
	s.Data["tls.crt"], s.Data["tls.key"] = other.Certificate, other.Key
	if err := api.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if trust, _ = read(t, c, cluster); trust.Given.Subject != "CN=other" {
		t.Errorf("trust %+v", trust)
	}
	if err := AddAuthority(t.Context(), c, cluster, trust.Current.Fingerprint); err != nil {
		t.Fatal(err)
	}
	if trust, _ = read(t, c, cluster); trust.Next.Subject != "CN=other" {
		t.Errorf("trust %+v", trust)
	}
	s.Data["tls.key"] = own.Key
	if err := api.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if trust, _ = read(t, c, cluster); trust.Given != nil || !strings.Contains(trust.GivenProblem, "do not match") {
		t.Errorf("trust %+v", trust)
	}
}

// TestGivenAuthorityWithAChain: a secret as cert-manager writes it holds, behind
// the certificate, whom it is from.
func TestGivenAuthorityWithAChain(t *testing.T) {
	now := time.Now()
	upper, err := sign(&x509.Certificate{Subject: pkix.Name{CommonName: "everybody in this company"},
		NotBefore: now.Add(-time.Hour),
		NotAfter:  now.Add(authorityLife), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := NewSigner(upper)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{Subject: pkix.Name{CommonName: "etcd"}, NotBefore: now.Add(-time.Hour),
		NotAfter: now.Add(90 * 24 * time.Hour),
		IsCA:     true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	own, err := sign(template, a)
	if err != nil {
		t.Fatal(err)
	}
	own.Certificate = slices.Concat(own.Certificate, upper.Certificate)
	mine := given(t, "mine", own)
	mine.Data["ca.crt"] = upper.Certificate
	c, api := kubetest.New(t, interceptor.Funcs{}, mine)
	cluster := kubetest.Cluster()
	cluster.Spec.TLS.CASecret = "mine"
	if err := EnsureCertificates(t.Context(), c, cluster); err != nil {
		t.Fatal(err)
	}
	trust, leaves := read(t, c, cluster)
	l := leaves["db-client-tls"]
	if trust.Current.Subject != "CN=shop/db" || trust.Given.Subject != "CN=etcd" || len(l.Trusts) != 1 ||
		l.Trusts[0] != trust.Current || l.Problem != "" {
		t.Errorf("trust %+v, a leaf trusts %+v, %s", trust, l.Trusts, l.Problem)
	}
	// Who trusts the root alone believes what members serve.
	served := parseCertificates(kubetest.Secret(t, api, "db-client-tls").Data["tls.crt"])
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	roots.AppendCertsFromPEM(upper.Certificate)
	for _, c := range served[1:] {
		between.AddCert(c)
	}
	if _, err := served[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil || len(served) != 3 {
		t.Errorf("%d certificates: %v", len(served), err)
	}
	// The same authority signs the next one, too.
	if err := AddAuthority(t.Context(), c, cluster, trust.Current.Fingerprint); err != nil {
		t.Fatal(err)
	}
	if trust, _ = read(t, c, cluster); trust.Next == nil || trust.Next.Subject != "CN=shop/db #2" {
		t.Errorf("trust %+v", trust)
	}
	if ca := kubetest.Secret(t, api, "db-ca"); len(parseCertificates(ca.Data["ca.crt"])) != 2 {
		t.Errorf("trusted are %d authorities", len(parseCertificates(ca.Data["ca.crt"])))
	}
	if err := PromoteAuthority(t.Context(), c, cluster, trust.Next.Fingerprint); err != nil {
		t.Fatal(err)
	}
	if ca := kubetest.Secret(t, api, "db-ca"); len(parseCertificates(ca.Data["ca.crt"])) != 1 {
		t.Errorf("trusted are %d authorities", len(parseCertificates(ca.Data["ca.crt"])))
	}
}

// TestSharedAuthorityOpensNoOtherCluster shakes hands across two clusters under one authority.
func TestSharedAuthorityOpensNoOtherCluster(t *testing.T) {
	root,
		err := sign(&x509.Certificate{Subject: pkix.Name{CommonName: "everybody"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(authorityLife), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign},
		nil)
	if err != nil {
		t.Fatal(err)
	}
	c, api := kubetest.New(t, interceptor.Funcs{}, given(t, "mine", root))
	clusters := map[string]*v1alpha1.DatabaseCluster{}
	for _, name := range []string{"db", "other"} {
		cluster := kubetest.Cluster()
		cluster.Name, cluster.Spec.TLS.CASecret = name, "mine"
		if err := EnsureCertificates(t.Context(), c, cluster); err != nil {
			t.Fatal(err)
		}
		if err := EnsureMemberCertificate(t.Context(), c, cluster, name+"-1"); err != nil {
			t.Fatal(err)
		}
		clusters[name] = cluster
	}
	server := pairOf(t, api, "db-1-tls")
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(kubetest.Secret(t, api, "db-1-tls").Data["ca.crt"])
	company := x509.NewCertPool()
	company.AppendCertsFromPEM(root.Certificate)
	for _, test := range []struct {
		client string
		roots  *x509.CertPool
		opens  bool
	}{
		{"db-admin-tls", trusted, true}, {"db-client-tls", company, true},
		{"other-admin-tls", company, false}, {"other-1-tls", company, false},
	} {
		err := handshake(t, &tls.Config{Certificates: []tls.Certificate{server}, ClientCAs: trusted,
			ClientAuth: tls.RequireAndVerifyClientCert},
			&tls.Config{Certificates: []tls.Certificate{pairOf(t, api, test.client)}, RootCAs: test.roots,
				ServerName: "localhost"})
		if (err == nil) != test.opens {
			t.Errorf("%s: %v", test.client, err)
		}
	}
}

func pairOf(t *testing.T, api client.Client, name string) tls.Certificate {
	t.Helper()
	s := kubetest.Secret(t, api, name)
	pair, err := tls.X509KeyPair(s.Data["tls.crt"], s.Data["tls.key"])
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// handshake connects a client to a server, and has both judge the other.
func handshake(t *testing.T, server, client *tls.Config) error {
	t.Helper()
	a, b := net.Pipe()
	defer func() { _, _ = a.Close(), b.Close() }()
	served := make(chan error, 1)
	go func() { served <- tls.Server(a, server).HandshakeContext(t.Context()) }()
	dialled := tls.Client(b, client)
	err := dialled.HandshakeContext(t.Context())
	go func() { _, _ = dialled.Read(make([]byte, 1)) }()
	return errors.Join(err, <-served)
}

// TestGivenAuthorityThatKeepsItsKey renews an authority of one cluster alone for the
// key that it had.
func TestGivenAuthorityThatKeepsItsKey(t *testing.T) {
	now := time.Now()
	upper, err := NewAuthority("everybody in this company", now)
	if err != nil {
		t.Fatal(err)
	}
	a, err := NewSigner(upper)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{Subject: pkix.Name{CommonName: "etcd"}, NotBefore: now.Add(-time.Hour),
		NotAfter: now.Add(90 * 24 * time.Hour),
		IsCA:     true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign}
	own, err := sign(template, a)
	if err != nil {
		t.Fatal(err)
	}
	own.Certificate = slices.Concat(own.Certificate, upper.Certificate)
	mine := given(t, "mine", own)
	mine.Data["ca.crt"], mine.Annotations = upper.Certificate, map[string]string{AnnotationOnlyFor: "db"}
	c, api := kubetest.New(t, interceptor.Funcs{}, mine)
	cluster := kubetest.Cluster()
	cluster.Spec.TLS.CASecret = "mine"
	if err := EnsureCertificates(t.Context(), c, cluster); err != nil {
		t.Fatal(err)
	}
	trust, leaves := read(t, c, cluster)
	l := leaves["db-client-tls"]
	if trust.Current.Subject != "CN=etcd" || *trust.Given != trust.Current || len(l.Trusts) != 1 ||
		l.Trusts[0] != trust.Current || l.Problem != "" {
		t.Errorf("trust %+v, a leaf trusts %+v, %s", trust, l.Trusts, l.Problem)
	}
	// It was renewed, and kept its key.
	signer, err := parseKey(func() []byte { b, _ := pem.Decode(own.Key); return b.Bytes }())
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber, template.NotAfter = big.NewInt(42), now.Add(180*24*time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, a.Certificate, signer.(*ecdsa.PrivateKey).Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	s := kubetest.Secret(t, api, "mine")
	s.Data["tls.crt"] = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := api.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if trust, _ = read(t, c, cluster); trust.Given != nil || !strings.Contains(trust.GivenProblem,
		"the key that signs already") {
		t.Errorf("trust %+v", trust)
	}
}
