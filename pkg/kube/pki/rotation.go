package pki

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// LeafOrder says which certificate is to be issued again, and how.
type LeafOrder struct {
	Secret string
	Use    CertificateUse
	Member string
	// Old is the fingerprint of the certificate that must go, "" for none.
	Old string
	// Next has it signed by the authority that is about to take over.
	Next bool
}

// RenewLeaf issues a certificate again, or makes it where it is missing. One
// that is as ordered already stays, so a repeat changes nothing. It returns
// the fingerprint of what is there now.
func RenewLeaf(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster, order LeafOrder) (string,
	error) {
	a, err := signer(ctx, c, cluster, order.Next)
	if err != nil {
		return "", err
	}
	labels := kube.ObjectLabels(cluster, kube.ComponentDatabase)
	if order.Use == UseMember {
		labels = kube.MemberLabels(cluster, order.Member)
	}
	s, err := c.EnsureSecret(ctx, cluster, order.Secret, corev1.SecretTypeTLS, labels, func() (map[string][]byte,
		error) {
		return issue(c, cluster, order, a)
	})
	if err != nil {
		return "", err
	}
	have := certificateFacts(cluster, s)
	if have.Problem == "" && have.Fingerprint != order.Old && have.Signer == fingerprint(a.Certificate) &&
		c.Now().Before(have.NotAfter) {
		return have.Fingerprint, nil
	}
	data, err := issue(c, cluster, order, a)
	if err != nil {
		return "", fmt.Errorf("issue the certificate of secret %s/%s: %w", cluster.Namespace, order.Secret, err)
	}
	if err := rewrite(ctx, c, s, func(d map[string][]byte) { maps.Copy(d, data) }); err != nil {
		return "", err
	}
	return certificateFacts(cluster, s).Fingerprint, nil
}

// issue makes the content of a leaf's secret.
func issue(c *kube.Client, cluster *v1alpha1.DatabaseCluster, order LeafOrder, a *Signer) (map[string][]byte, error) {
	var p KeyPair
	var err error
	switch order.Use {
	case UseAdmin:
		p, err = a.IssueClient(v1alpha1.AdminUser, c.Now())
	case UseClient:
		p, err = a.IssueClient(v1alpha1.ApplicationUser, c.Now())
	default:
		p, err = a.IssueMember(order.Member, MemberHosts(cluster, order.Member), c.Now())
	}
	if err != nil {
		return nil, err
	}
	return map[string][]byte{corev1.TLSCertKey: p.Certificate, corev1.TLSPrivateKeyKey: p.Key, CAKey: a.bundle}, nil
}

// signer is the authority that signs now, or the one that is about to.
func signer(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster, next bool) (*Signer, error) {
	s, err := authoritySecret(ctx, c, cluster)
	if err != nil {
		return nil, err
	}
	p := KeyPair{Certificate: s.Data[corev1.TLSCertKey], Key: s.Data[corev1.TLSPrivateKeyKey]}
	if next {
		p = KeyPair{Certificate: s.Data[nextCertificateKey], Key: s.Data[nextPrivateKeyKey]}
	}
	a, err := NewSigner(p)
	if err != nil {
		return nil, fmt.Errorf("read the authority in secret %s/%s: %w", s.Namespace, s.Name, err)
	}
	a.bundle = s.Data[CAKey]
	return a, nil
}

func authoritySecret(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster) (*corev1.Secret, error) {
	s := &corev1.Secret{}
	if err := c.API.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: v1alpha1.CASecret(cluster.Name)},
		s); err != nil {
		return nil, err
	}
	if s.Labels[v1alpha1.LabelCluster] != cluster.Name {
		return nil, c.ForeignError("patch", s)
	}
	return s, nil
}

// AddAuthority puts a second authority beside the one of that fingerprint: the
// person's or the issuer's, where the cluster names one, else a new one. One
// that is there already stays. ErrIssuing (wrapped) asks for another try.
func AddAuthority(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster, current string) error {
	s, err := authoritySecret(ctx, c, cluster)
	if err != nil {
		return err
	}
	t := trustFacts(s)
	if t.Next != nil {
		return nil
	}
	if t.Current.Fingerprint != current {
		return fmt.Errorf("the authority in secret %s/%s is another one by now: %w", s.Namespace, s.Name, kube.ErrConflict)
	}
	p, err := nextAuthority(ctx, c, cluster, s)
	if err != nil {
		return err
	}
	if err := rewrite(ctx, c, s, func(d map[string][]byte) {
		d[nextCertificateKey], d[nextPrivateKeyKey] = p.Certificate, p.Key
		d[CAKey] = slices.Concat(firstCertificate(d[corev1.TLSCertKey]), firstCertificate(p.Certificate))
	}); err != nil {
		return err
	}
	return DeleteRequest(ctx, c, cluster)
}

// nextAuthority finds or makes the one that follows.
func nextAuthority(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster, s *corev1.Secret) (KeyPair,
	error) {
	all := parseCertificates(s.Data[corev1.TLSCertKey])
	if len(all) == 0 {
		return KeyPair{}, fmt.Errorf("secret %s/%s holds no certificate", s.Namespace, s.Name)
	}
	name := successorName(all[0].Subject.CommonName)
	if cluster.Spec.TLS.CASecret != "" {
		return authorityBelow(ctx, c, cluster, name)
	}
	if cluster.Spec.TLS.Issuer != nil {
		return issuedAuthority(ctx, c, cluster, name, all[0].PublicKey)
	}
	return NewAuthority(name, c.Now())
}

// foundingAuthority is that of the cluster whose place this one takes: its clients trust no other. Else it is a
// person's or an issuer's, where the cluster names one, else a new one.
func foundingAuthority(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster) (KeyPair, error) {
	name := cluster.Namespace + "/" + cluster.Name
	if former := cluster.Predecessor(); former != "" {
		p, err := predecessorAuthority(ctx, c, cluster, former)
		formed := cluster.Status.Bootstrap != nil && cluster.Status.Bootstrap.ClusterID != ""
		if !formed || !errors.Is(err, kube.ErrNotFound) {
			return p, err
		}
		// The former cluster was deleted since: what is made again is of this one alone.
	}
	if cluster.Spec.TLS.CASecret != "" {
		return authorityBelow(ctx, c, cluster, name)
	}
	if cluster.Spec.TLS.Issuer != nil {
		return issuedAuthority(ctx, c, cluster, name, nil)
	}
	return NewAuthority(name, c.Now())
}

// predecessorAuthority is the present authority of another cluster of the namespace, which must not be in the middle of
// getting another one.
func predecessorAuthority(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster, of string) (KeyPair,
	error) {
	s := &corev1.Secret{}
	if err := c.API.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: v1alpha1.CASecret(of)}, s); err != nil {
		return KeyPair{}, err
	}
	if err := c.Behalf.CheckSecret(ctx, s, cluster); err != nil {
		return KeyPair{}, fmt.Errorf("%w: %w", kube.ErrAuthority, err)
	}
	if len(s.Data[nextCertificateKey]) > 0 {
		return KeyPair{}, fmt.Errorf("secret %s/%s: %w: another authority is about to take its place; finish that: "+
			"kubectl dbop certificates rotate %s --ca=finish -n %s", s.Namespace, s.Name, kube.ErrAuthority, of, s.Namespace)
	}
	p := KeyPair{Certificate: s.Data[corev1.TLSCertKey], Key: s.Data[corev1.TLSPrivateKeyKey]}
	if err := judgeAuthority(p, c.Now()); err != nil {
		return KeyPair{}, fmt.Errorf("secret %s/%s: %w: %w", s.Namespace, s.Name, kube.ErrAuthority, err)
	}
	return p, nil
}

// sameKey reports whether an authority is another one than the present, with the same key.
func sameKey(current []byte, a *x509.Certificate) bool {
	all := parseCertificates(current)
	return len(all) > 0 && !all[0].Equal(a) && bytes.Equal(all[0].RawSubjectPublicKeyInfo, a.RawSubjectPublicKeyInfo)
}

// PromoteAuthority lets the second authority, of that fingerprint, take the
// place of the first, which nobody trusts from then on.
func PromoteAuthority(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster, next string) error {
	s, err := authoritySecret(ctx, c, cluster)
	if err != nil {
		return err
	}
	switch t := trustFacts(s); {
	case t.Next == nil && t.Current.Fingerprint == next:
		return nil
	case t.Next == nil || t.Next.Fingerprint != next:
		return fmt.Errorf("the authorities in secret %s/%s are others by now: %w", s.Namespace, s.Name, kube.ErrConflict)
	}
	// A crash right after it was added left the request that it came from.
	if err := DeleteRequest(ctx, c, cluster); err != nil {
		return err
	}
	return rewrite(ctx, c, s, func(d map[string][]byte) {
		d[corev1.TLSCertKey], d[corev1.TLSPrivateKeyKey] = d[nextCertificateKey], d[nextPrivateKeyKey]
		d[CAKey] = firstCertificate(d[nextCertificateKey])
		delete(d, nextCertificateKey)
		delete(d, nextPrivateKeyKey)
	})
}

// DropAuthority takes the second authority away again.
func DropAuthority(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster) error {
	s, err := authoritySecret(ctx, c, cluster)
	if err != nil {
		return err
	}
	if trustFacts(s).Next == nil {
		return nil
	}
	// What a crash left of its request would be taken for an answer by the next rotation.
	if err := DeleteRequest(ctx, c, cluster); err != nil {
		return err
	}
	return rewrite(ctx, c, s, func(d map[string][]byte) {
		d[CAKey] = firstCertificate(d[corev1.TLSCertKey])
		delete(d, nextCertificateKey)
		delete(d, nextPrivateKeyKey)
	})
}

// DistributeTrust gives the bundle of the authority's secret to leaves that
// have another one.
func DistributeTrust(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster, secrets []string) error {
	ca, err := authoritySecret(ctx, c, cluster)
	if err != nil {
		return err
	}
	for _, name := range secrets {
		s := &corev1.Secret{}
		if err := c.API.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: name}, s); err != nil {
			return err
		}
		if s.Labels[v1alpha1.LabelCluster] != cluster.Name {
			return c.ForeignError("patch", s)
		}
		if string(s.Data[CAKey]) == string(ca.Data[CAKey]) {
			continue
		}
		if err := rewrite(ctx, c, s, func(d map[string][]byte) { d[CAKey] = ca.Data[CAKey] }); err != nil {
			return err
		}
	}
	return nil
}

// rewrite changes a secret that was read, if nobody else did meanwhile.
func rewrite(ctx context.Context, c *kube.Client, s *corev1.Secret, change func(map[string][]byte)) error {
	before := s.DeepCopy()
	change(s.Data)
	return c.API.Patch(ctx, s, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// TriggerSecretSync has the kubelet bring a changed secret into a pod now rather
// than within a minute or two: a new annotation makes it read. It is a
// courtesy: without the right to it, the files come by themselves.
func TriggerSecretSync(ctx context.Context, c *kube.Client, namespace, pod, uid, fingerprint string) error {
	p := &corev1.Pod{}
	if err := c.API.Get(ctx, client.ObjectKey{Namespace: namespace, Name: pod}, p); err != nil {
		return kube.IgnoreNotFound(err)
	}
	if string(p.UID) != uid || p.Annotations[kube.AnnotationCertificate] == fingerprint {
		return nil
	}
	before := p.DeepCopy()
	metav1.SetMetaDataAnnotation(&p.ObjectMeta, kube.AnnotationCertificate, fingerprint)
	err := kube.IgnoreNotFound(c.API.Patch(ctx, p, client.MergeFrom(before)))
	if _, ok := errors.AsType[*kube.ForbiddenError](err); ok {
		return nil
	}
	return err
}
