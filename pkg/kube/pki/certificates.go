// Package pki makes, renews and reads the certificates of clusters. The authority
// is the tool's own, one that a person gives, or one that cert-manager signs.
package pki

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// caKey is where a TLS secret holds the authorities that are to be trusted. The
// authority's own secret also holds the one that is about to take its place,
// if there is one.
const (
	CAKey              = "ca.crt"
	nextCertificateKey = "next.crt"
	nextPrivateKeyKey  = "next.key"
)

// EnsureCertificates makes authority, administrator's and applications'
// certificate where they are missing. What exists is never replaced; a crash
// leaves some, and a repeat makes the rest. ErrIssuing (wrapped) asks for
// another try.
func EnsureCertificates(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster) error {
	if cluster.Spec.TLS.Disabled {
		return nil
	}
	a, err := ensureAuthority(ctx, c, cluster)
	if err != nil {
		return err
	}
	for name, user := range map[string]string{v1alpha1.AdminSecret(cluster.Name): v1alpha1.AdminUser,
		v1alpha1.ClientSecret(cluster.Name): v1alpha1.ApplicationUser} {
		err := ensureLeaf(ctx, c, cluster, name, kube.ObjectLabels(cluster, kube.ComponentDatabase), a,
			func(now time.Time) (KeyPair, error) { return a.IssueClient(user, now) })
		if err != nil {
			return err
		}
	}
	return nil
}

// EnsureMemberCertificate makes a member's certificate if it is missing. An
// existing one is kept if it is of the same authority. The authority must
// exist: another one in its place would lock everybody out.
func EnsureMemberCertificate(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster,
	member string) error {
	if cluster.Spec.TLS.Disabled {
		return nil
	}
	a, err := signer(ctx, c, cluster, false)
	if err != nil {
		return err
	}
	return ensureLeaf(ctx, c, cluster, v1alpha1.MemberSecret(member), kube.MemberLabels(cluster, member), a,
		func(now time.Time) (KeyPair, error) {
			return a.IssueMember(member, MemberHosts(cluster, member), now)
		})
}

// MemberHosts are the names by which a member is dialled, the one that
// identifies it first. localhost is for port-forwards and probes. The services of
// a cluster that this one takes the place of lead here one day.
func MemberHosts(c *v1alpha1.DatabaseCluster, member string) []string {
	service, readOnly := v1alpha1.ClientService(c.Name), v1alpha1.ReadOnlyService(c.Name)
	hosts := []string{
		v1alpha1.MemberHost(c.Name, c.Namespace, member),
		v1alpha1.PodName(member) + "." + v1alpha1.HeadlessService(c.Name),
		service, service + "." + c.Namespace, v1alpha1.ClientHost(c.Name, c.Namespace),
		readOnly, readOnly + "." + c.Namespace, readOnly + "." + c.Namespace + ".svc",
		// Agents know each other by the name of the member alone.
		member,
		"localhost", "127.0.0.1", "::1",
	}
	if former := c.Predecessor(); former != "" {
		for _, service := range []string{v1alpha1.ClientService(former), v1alpha1.ReadOnlyService(former)} {
			hosts = append(hosts, service, service+"."+c.Namespace, service+"."+c.Namespace+".svc")
		}
	}
	return hosts
}

// ClientTLS reads the administrator's certificate, and says what it is: one
// request. nil if the cluster is served in plain text. The caller sets the
// server name and keeps the result.
func ClientTLS(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster) (*tls.Config, *Certificate,
	error) {
	return tlsOf(ctx, c, cluster, v1alpha1.AdminSecret(cluster.Name))
}

// ApplicationTLS reads the applications' certificate in the same way.
func ApplicationTLS(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster) (*tls.Config, error) {
	config, _, err := tlsOf(ctx, c, cluster, v1alpha1.ClientSecret(cluster.Name))
	return config, err
}

func tlsOf(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster, name string) (*tls.Config,
	*Certificate, error) {
	if cluster.Spec.TLS.Disabled {
		return nil, nil, nil
	}
	s := &corev1.Secret{}
	if err := c.API.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: name}, s); err != nil {
		return nil, nil, err
	}
	return clientTLS(cluster, s)
}

// TLSFromSecret is the configuration that a user's secret holds, such as one that is mounted.
func TLSFromSecret(cluster *v1alpha1.DatabaseCluster, s *corev1.Secret) (*tls.Config, error) {
	config, _, err := clientTLS(cluster, s)
	return config, err
}

// clientTLS reads a user's secret.
func clientTLS(cluster *v1alpha1.DatabaseCluster, s *corev1.Secret) (*tls.Config, *Certificate, error) {
	pair, err := tls.X509KeyPair(s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, nil, fmt.Errorf("secret %s/%s holds no matching certificate and key", s.Namespace, s.Name)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(s.Data[CAKey]) {
		return nil, nil, fmt.Errorf("secret %s/%s holds no authority under %s", s.Namespace, s.Name, CAKey)
	}
	facts := certificateFacts(cluster, s)
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, RootCAs: roots}, &facts, nil
}

func ensureAuthority(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster) (*Signer, error) {
	name := v1alpha1.CASecret(cluster.Name)
	s, err := c.EnsureSecret(ctx, cluster, name, corev1.SecretTypeTLS, kube.ObjectLabels(cluster, kube.ComponentDatabase),
		func() (map[string][]byte, error) {
			p, err := foundingAuthority(ctx, c, cluster)
			if err != nil {
				return nil, err
			}
			return map[string][]byte{corev1.TLSCertKey: p.Certificate, corev1.TLSPrivateKeyKey: p.Key,
				CAKey: firstCertificate(p.Certificate)}, nil
		})
	if err != nil {
		return nil, err
	}
	a, err := NewSigner(KeyPair{Certificate: s.Data[corev1.TLSCertKey], Key: s.Data[corev1.TLSPrivateKeyKey]})
	if err != nil {
		return nil, fmt.Errorf("read the authority in secret %s/%s: %w", cluster.Namespace, name, err)
	}
	a.bundle = s.Data[CAKey]
	return a, DeleteRequest(ctx, c, cluster)
}

func ensureLeaf(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster, name string,
	labels map[string]string, a *Signer, issue func(now time.Time) (KeyPair, error)) error {
	s, err := c.EnsureSecret(ctx, cluster, name, corev1.SecretTypeTLS, labels, func() (map[string][]byte, error) {
		p, err := issue(c.Now())
		if err != nil {
			return nil, err
		}
		return map[string][]byte{corev1.TLSCertKey: p.Certificate, corev1.TLSPrivateKeyKey: p.Key, CAKey: a.bundle}, nil
	})
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(parseCertificates(s.Data[CAKey]), a.Certificate.Equal) {
		return fmt.Errorf("secret %s/%s is signed by another authority than %s: %w", cluster.Namespace, name,
			v1alpha1.CASecret(cluster.Name), kube.ErrForeign)
	}
	return nil
}

// DeleteMemberCertificate deletes a member's certificate. A repeat does nothing.
func DeleteMemberCertificate(ctx context.Context, c *kube.Client, namespace, member string) error {
	return c.DeleteOwned(ctx, "", &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace,
		Name: v1alpha1.MemberSecret(member)}})
}
