package pki

import (
	"bytes"
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// AnnotationOnlyFor on a secret with a person's authority names the one cluster
// of its namespace that it signs for. An authority that may not sign
// authorities is used for no other.
const AnnotationOnlyFor = "dbop.dev/only-for"

// givenAuthority reads and judges the person's own authority, with the chain
// up to who signed it; its secret is never changed.
func givenAuthority(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster) (KeyPair, error) {
	s := &corev1.Secret{}
	if err := c.API.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: cluster.Spec.TLS.CASecret},
		s); err != nil {
		return KeyPair{}, err
	}
	if err := c.Behalf.CheckSecret(ctx, s, cluster); err != nil {
		return KeyPair{}, fmt.Errorf("%w: %w", kube.ErrAuthority, err)
	}
	p := KeyPair{Certificate: s.Data[corev1.TLSCertKey], Key: s.Data[corev1.TLSPrivateKeyKey]}
	if err := judgeAuthority(p, c.Now()); err != nil {
		return KeyPair{}, fmt.Errorf("secret %s/%s: %w: %w", s.Namespace, s.Name, kube.ErrAuthority, err)
	}
	if !maySignAuthorities(p) && s.Annotations[AnnotationOnlyFor] != cluster.Name {
		return KeyPair{}, fmt.Errorf("secret %s/%s: %w: it may not sign authorities (its path length is too short), "+
			"so all clusters that it signs for could open each other; use one that may, or, if it signs for this cluster "+
			"alone: kubectl annotate secret %s -n %s %s=%s",
			s.Namespace, s.Name, kube.ErrAuthority, s.Name, s.Namespace, AnnotationOnlyFor, cluster.Name)
	}
	return p, nil
}

// authorityBelow has the person's authority sign one for this cluster alone:
// members trust that and nothing else, so neither another cluster's certificates
// nor others of the same authority open this cluster. An authority that may not
// sign authorities, and is there for this cluster alone, is used as it is.
func authorityBelow(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster, name string) (KeyPair,
	error) {
	p, err := givenAuthority(ctx, c, cluster)
	if err != nil || !maySignAuthorities(p) {
		return p, err
	}
	above, err := NewSigner(p)
	if err != nil {
		return KeyPair{}, err
	}
	return sign(authorityTemplate(name, c.Now()), above)
}

// authorityTemplate is an authority that signs leaves only.
func authorityTemplate(name string, now time.Time) *x509.Certificate {
	return &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-clockSkew), NotAfter: now.Add(authorityLife),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
}

// maySignAuthorities reports whether an authority, and each above it in its
// chain, allows one more below.
func maySignAuthorities(p KeyPair) bool {
	for i, a := range parseCertificates(p.Certificate) {
		if a.MaxPathLen >= 0 && a.MaxPathLen < i+1 {
			return false
		}
	}
	return true
}

// firstCertificate drops what follows the first of a chain.
func firstCertificate(chain []byte) []byte {
	first, _ := pem.Decode(chain)
	if first == nil {
		return nil
	}
	return pem.EncodeToMemory(&pem.Block{Type: first.Type, Bytes: first.Bytes})
}

// chainOf is a chain without certificates that signed themselves: a client that trusts these has them.
func chainOf(certificates []byte) []byte {
	var out []byte
	for _, a := range parseCertificates(certificates) {
		if !bytes.Equal(a.RawIssuer, a.RawSubject) {
			out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Raw})...)
		}
	}
	return out
}
