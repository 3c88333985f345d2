package kube

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// caKey is where a TLS secret holds the authorities that are to be trusted. The
// authority's own secret also holds the one that is about to take its place,
// if there is one.
const (
	caKey              = "ca.crt"
	nextCertificateKey = "next.crt"
	nextPrivateKeyKey  = "next.key"
)

// EnsureCertificates makes authority, administrator's and applications'
// certificate where they are missing. What exists is never replaced; a crash
// leaves some, and a repeat makes the rest. ErrIssuing (wrapped) asks for
// another try.
func (c *Client) EnsureCertificates(ctx context.Context, cluster *v1alpha1.DatabaseCluster) error {
	if cluster.Spec.TLS.Disabled {
		return nil
	}
	a, err := c.ensureAuthority(ctx, cluster)
	if err != nil {
		return err
	}
	for name, user := range map[string]string{v1alpha1.AdminSecret(cluster.Name): v1alpha1.AdminUser, v1alpha1.ClientSecret(cluster.Name): v1alpha1.ApplicationUser} {
		err := c.ensureLeaf(ctx, cluster, name, objectLabels(cluster, componentDatabase), a, func(now time.Time) (keyPair, error) { return a.client(user, now) })
		if err != nil {
			return err
		}
	}
	return nil
}

// EnsureMemberCertificate makes a member's certificate if it is missing. An
// existing one is kept if it is of the same authority. The authority must
// exist: another one in its place would lock everybody out.
func (c *Client) EnsureMemberCertificate(ctx context.Context, cluster *v1alpha1.DatabaseCluster, member string) error {
	if cluster.Spec.TLS.Disabled {
		return nil
	}
	a, err := c.signer(ctx, cluster, false)
	if err != nil {
		return err
	}
	return c.ensureLeaf(ctx, cluster, v1alpha1.MemberSecret(member), memberLabels(cluster, member), a, func(now time.Time) (keyPair, error) {
		return a.member(member, MemberHosts(cluster, member), now)
	})
}

// MemberHosts are the names by which a member is dialled, the one that
// identifies it first. localhost is for port-forwards and probes.
func MemberHosts(c *v1alpha1.DatabaseCluster, member string) []string {
	service := v1alpha1.ClientService(c.Name)
	return []string{
		v1alpha1.MemberHost(c.Name, c.Namespace, member),
		v1alpha1.PodName(member) + "." + v1alpha1.HeadlessService(c.Name),
		service, service + "." + c.Namespace, v1alpha1.ClientHost(c.Name, c.Namespace),
		"localhost", "127.0.0.1", "::1",
	}
}

// ClientTLS reads the administrator's certificate, and says what it is: one
// request. nil if the cluster is served in plain text. The caller sets the
// server name and keeps the result.
func (c *Client) ClientTLS(ctx context.Context, cluster *v1alpha1.DatabaseCluster) (*tls.Config, *Certificate, error) {
	return c.tlsOf(ctx, cluster, v1alpha1.AdminSecret(cluster.Name))
}

// ApplicationTLS reads the applications' certificate in the same way.
func (c *Client) ApplicationTLS(ctx context.Context, cluster *v1alpha1.DatabaseCluster) (*tls.Config, error) {
	config, _, err := c.tlsOf(ctx, cluster, v1alpha1.ClientSecret(cluster.Name))
	return config, err
}

func (c *Client) tlsOf(ctx context.Context, cluster *v1alpha1.DatabaseCluster, name string) (*tls.Config, *Certificate, error) {
	if cluster.Spec.TLS.Disabled {
		return nil, nil, nil
	}
	s := &corev1.Secret{}
	if err := c.api.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: name}, s); err != nil {
		return nil, nil, err
	}
	return clientTLS(cluster, s)
}

// clientTLS reads a user's secret.
func clientTLS(cluster *v1alpha1.DatabaseCluster, s *corev1.Secret) (*tls.Config, *Certificate, error) {
	pair, err := tls.X509KeyPair(s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, nil, fmt.Errorf("secret %s/%s holds no matching certificate and key", s.Namespace, s.Name)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(s.Data[caKey]) {
		return nil, nil, fmt.Errorf("secret %s/%s holds no authority under %s", s.Namespace, s.Name, caKey)
	}
	facts := certificateFacts(cluster, s)
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, RootCAs: roots}, &facts, nil
}

func (c *Client) ensureAuthority(ctx context.Context, cluster *v1alpha1.DatabaseCluster) (*authority, error) {
	name := v1alpha1.CASecret(cluster.Name)
	s, err := c.ensureSecret(ctx, cluster, name, corev1.SecretTypeTLS, objectLabels(cluster, componentDatabase), func() (map[string][]byte, error) {
		p, err := c.foundingAuthority(ctx, cluster)
		if err != nil {
			return nil, err
		}
		return map[string][]byte{corev1.TLSCertKey: p.certificate, corev1.TLSPrivateKeyKey: p.key, caKey: firstCertificate(p.certificate)}, nil
	})
	if err != nil {
		return nil, err
	}
	a, err := parseAuthority(keyPair{certificate: s.Data[corev1.TLSCertKey], key: s.Data[corev1.TLSPrivateKeyKey]})
	if err != nil {
		return nil, fmt.Errorf("read the authority in secret %s/%s: %w", cluster.Namespace, name, err)
	}
	a.bundle = s.Data[caKey]
	return a, c.forgetRequest(ctx, cluster)
}

func (c *Client) ensureLeaf(ctx context.Context, cluster *v1alpha1.DatabaseCluster, name string, labels map[string]string, a *authority, issue func(now time.Time) (keyPair, error)) error {
	s, err := c.ensureSecret(ctx, cluster, name, corev1.SecretTypeTLS, labels, func() (map[string][]byte, error) {
		p, err := issue(c.Now())
		if err != nil {
			return nil, err
		}
		return map[string][]byte{corev1.TLSCertKey: p.certificate, corev1.TLSPrivateKeyKey: p.key, caKey: a.bundle}, nil
	})
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(parseCertificates(s.Data[caKey]), a.certificate.Equal) {
		return fmt.Errorf("secret %s/%s is signed by another authority than %s: %w", cluster.Namespace, name, v1alpha1.CASecret(cluster.Name), ErrForeign)
	}
	return nil
}

// ensureSecret reads a secret, or creates it. What an earlier cluster of the
// same name left is not used: others may hold its keys.
func (c *Client) ensureSecret(ctx context.Context, cluster *v1alpha1.DatabaseCluster, name string, kind corev1.SecretType, labels map[string]string, make func() (map[string][]byte, error)) (*corev1.Secret, error) {
	key := client.ObjectKey{Namespace: cluster.Namespace, Name: name}
	s := &corev1.Secret{}
	err := c.api.Get(ctx, key, s)
	if errors.Is(err, ErrNotFound) {
		data, merr := make()
		if errors.Is(merr, ErrIssuing) {
			return nil, merr
		}
		if merr != nil {
			return nil, fmt.Errorf("make the contents of secret %s/%s: %w", cluster.Namespace, name, merr)
		}
		s = &corev1.Secret{
			ObjectMeta: metaOf(cluster, name, labels), Type: kind, Data: data,
		}
		err = c.api.Create(ctx, s)
		if errors.Is(err, ErrExists) {
			err = c.api.Get(ctx, key, s)
		}
	}
	switch {
	case err != nil:
		return nil, err
	case s.Labels[v1alpha1.LabelCluster] != cluster.Name:
		return nil, c.foreign("create", s)
	case !belongs(s, cluster) || s.DeletionTimestamp != nil:
		return nil, fmt.Errorf("secret %s/%s is of an earlier cluster of that name, or is being deleted: %w", cluster.Namespace, name, ErrConflict)
	}
	return s, nil
}
