package pki

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// Authority is a certificate authority as a bundle names it.
type Authority struct {
	Fingerprint string    `json:"fingerprint"`
	Subject     string    `json:"subject"`
	NotAfter    time.Time `json:"notAfter"`
}

// CertificateUse is what a certificate of a cluster is for.
type CertificateUse string

// The uses.
const (
	UseAdmin  CertificateUse = "admin"
	UseClient CertificateUse = "client"
	UseMember CertificateUse = "member"
)

// Certificate is what a secret with a certificate holds, without its key.
type Certificate struct {
	Secret string         `json:"secret"`
	Use    CertificateUse `json:"use"`
	// Member that serves it, for UseMember.
	Member      string    `json:"member,omitempty"`
	Subject     string    `json:"subject,omitempty"`
	Issuer      string    `json:"issuer,omitempty"`
	Names       []string  `json:"names,omitempty"`
	Fingerprint string    `json:"fingerprint,omitempty"`
	NotBefore   time.Time `json:"notBefore,omitzero"`
	NotAfter    time.Time `json:"notAfter,omitzero"`
	// Trusts are the authorities in its bundle. Signer is the fingerprint of
	// the one that signed the certificate, "" for none of them.
	Trusts []Authority `json:"trusts,omitempty"`
	Signer string      `json:"signer,omitempty"`
	// Problem says why it can't be used, "" if it can.
	Problem string `json:"problem,omitempty"`
}

// Trust is what a cluster's certificates are signed with.
type Trust struct {
	// Current signs; Next, if there is one, is about to take its place.
	Current Authority  `json:"current"`
	Next    *Authority `json:"next,omitempty"`
	// Given is what the person's secret holds now, where the cluster names one,
	// and GivenProblem why it can't be used.
	Given        *Authority `json:"given,omitempty"`
	GivenProblem string     `json:"givenProblem,omitempty"`
	// Problem says why the authority can't sign, "" if it can.
	Problem string `json:"problem,omitempty"`
}

// Bundle is what everybody is to trust.
func (t Trust) Bundle() []Authority {
	if t.Next == nil {
		return []Authority{t.Current}
	}
	return []Authority{t.Current, *t.Next}
}

// fingerprint is the SHA-256 of a certificate.
func fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return hex.EncodeToString(sum[:])
}

func authorityOf(c *x509.Certificate) Authority {
	return Authority{Fingerprint: fingerprint(c), Subject: c.Subject.ToRDNSequence().String(), NotAfter: c.NotAfter}
}

// parseCertificates reads all certificates of a file, and skips what is none.
func parseCertificates(content []byte) []*x509.Certificate {
	var out []*x509.Certificate
	for {
		var block *pem.Block
		if block, content = pem.Decode(content); block == nil {
			return out
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			out = append(out, c)
		}
	}
}

// certificateFacts reads a leaf's secret. It never quotes what it can't read.
func certificateFacts(c *v1alpha1.DatabaseCluster, s *corev1.Secret) Certificate {
	f := Certificate{Secret: s.Name, Use: UseMember, Member: s.Labels[v1alpha1.LabelMember]}
	switch s.Name {
	case v1alpha1.AdminSecret(c.Name):
		f.Use = UseAdmin
	case v1alpha1.ClientSecret(c.Name):
		f.Use = UseClient
	}
	bundle := parseCertificates(s.Data[CAKey])
	for _, a := range bundle {
		f.Trusts = append(f.Trusts, authorityOf(a))
	}
	leaves := parseCertificates(s.Data[corev1.TLSCertKey])
	if len(leaves) == 0 {
		f.Problem = "it holds no certificate"
		return f
	}
	l := leaves[0]
	f.Subject, f.Issuer, f.Fingerprint = l.Subject.ToRDNSequence().String(), l.Issuer.ToRDNSequence().String(),
		fingerprint(l)
	f.NotBefore, f.NotAfter, f.Names = l.NotBefore, l.NotAfter, slices.Clone(l.DNSNames)
	for _, ip := range l.IPAddresses {
		f.Names = append(f.Names, ip.String())
	}
	for _, a := range bundle {
		if l.CheckSignatureFrom(a) == nil {
			f.Signer = fingerprint(a)
			break
		}
	}
	switch _, err := tls.X509KeyPair(s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey]); {
	case err != nil:
		f.Problem = "certificate and key do not match"
	case f.Signer == "":
		f.Problem = "no authority in its bundle signed it"
	case f.Use == UseMember && !covers(l, MemberHosts(c, f.Member)):
		f.Problem = "it does not name all hosts of " + f.Member
	}
	return f
}

// covers reports whether a certificate serves all those names.
func covers(l *x509.Certificate, hosts []string) bool {
	for _, h := range hosts {
		if l.VerifyHostname(h) != nil {
			return false
		}
	}
	return true
}

// trustFacts reads the authority's secret.
func trustFacts(s *corev1.Secret) Trust {
	t := Trust{}
	if all := parseCertificates(s.Data[corev1.TLSCertKey]); len(all) > 0 {
		t.Current = authorityOf(all[0])
	}
	if all := parseCertificates(s.Data[nextCertificateKey]); len(all) > 0 {
		next := authorityOf(all[0])
		t.Next = &next
	}
	if _, err := NewSigner(KeyPair{Certificate: s.Data[corev1.TLSCertKey],
		Key: s.Data[corev1.TLSPrivateKeyKey]}); err != nil {
		t.Problem = "the authority can't sign: " + err.Error()
	}
	return t
}

// CertificateFacts judges the certificates of a cluster. A person's authority
// takes one more request.
func CertificateFacts(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster, secrets *Secrets) (*Trust,
	[]Certificate, error) {
	if cluster.Spec.TLS.Disabled {
		return nil, nil, nil
	}
	trust, leaves := &Trust{Problem: "secret " + v1alpha1.CASecret(cluster.Name) + " is gone"}, secrets.Leaves()
	var current []byte
	if s := secrets.named(v1alpha1.CASecret(cluster.Name)); s != nil && (kube.BelongsTo(s, cluster) ||
		kube.Unlabelled(s, cluster)) && s.DeletionTimestamp == nil {
		t := trustFacts(s)
		trust, current = &t, s.Data[corev1.TLSCertKey]
	}
	if cluster.Spec.TLS.CASecret == "" {
		return trust, leaves, nil
	}
	switch p, err := givenAuthority(ctx, c, cluster); {
	case errors.Is(err, kube.ErrNotFound), errors.Is(err, kube.ErrAuthority):
		trust.GivenProblem = err.Error()
	case err != nil:
		return nil, nil, err
	default:
		given := parseCertificates(p.Certificate)[0]
		if sameKey(current, given) {
			trust.GivenProblem = fmt.Sprintf("secret %s/%s holds a new certificate for the key that signs already: nobody "+
				"could tell which of the two signed what", cluster.Namespace, cluster.Spec.TLS.CASecret)
			break
		}
		a := authorityOf(given)
		trust.Given = &a
	}
	return trust, leaves, nil
}
