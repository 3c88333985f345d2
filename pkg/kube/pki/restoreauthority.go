package pki

import (
	"context"
	"encoding/pem"
	"errors"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// RestoreAuthority makes the authority's secret again after it was lost. A
// person's authority is read again. Otherwise the key is gone for good: a new
// authority is made, and where a certificate of the lost one, by its
// fingerprint, is still in a bundle, it stays the present one, without a key,
// and the new one is about to take its place. A secret that can be used, or
// that holds a successor, stays as it is. ErrIssuing (wrapped) asks for another try.
func RestoreAuthority(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster, lost string) error {
	old, err := bundled(ctx, c, cluster, lost)
	if err != nil {
		return err
	}
	make := func() (map[string][]byte, error) { return successor(ctx, c, cluster, old) }
	s, err := c.EnsureSecret(ctx, cluster, v1alpha1.CASecret(cluster.Name), corev1.SecretTypeTLS,
		kube.ObjectLabels(cluster, kube.ComponentDatabase), make)
	if err != nil {
		return err
	}
	if t := trustFacts(s); t.Problem != "" && t.Next == nil {
		data, err := make()
		if err != nil {
			return err
		}
		if err := rewrite(ctx, c, s, func(d map[string][]byte) {
			clear(d)
			maps.Copy(d, data)
		}); err != nil {
			return err
		}
	}
	return DeleteRequest(ctx, c, cluster)
}

// successor is the content of the authority's secret; old is the certificate
// of the lost one, nil if nobody knows it.
func successor(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster, old []byte) (map[string][]byte,
	error) {
	var p KeyPair
	var err error
	if old == nil {
		p, err = foundingAuthority(ctx, c, cluster)
	} else {
		p, err = nextAuthority(ctx, c, cluster, &corev1.Secret{Data: map[string][]byte{corev1.TLSCertKey: old}})
	}
	if err != nil {
		return nil, err
	}
	given := parseCertificates(p.Certificate)
	if len(given) == 0 {
		return nil, errors.New("the new authority can't be read back")
	}
	if known := parseCertificates(old); len(known) == 0 || known[0].Equal(given[0]) {
		return map[string][]byte{corev1.TLSCertKey: p.Certificate, corev1.TLSPrivateKeyKey: p.Key,
			CAKey: p.Certificate}, nil
	}
	return map[string][]byte{
		corev1.TLSCertKey: old, corev1.TLSPrivateKeyKey: {}, CAKey: slices.Concat(old, p.Certificate),
		nextCertificateKey: p.Certificate, nextPrivateKeyKey: p.Key,
	}, nil
}

// bundled finds the authority of that fingerprint in the bundles of the
// cluster's certificates; nil if it is in none.
func bundled(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster, wanted string) ([]byte, error) {
	l := &corev1.SecretList{}
	if err := c.API.List(ctx, l, client.InNamespace(cluster.Namespace),
		client.MatchingLabels{v1alpha1.LabelCluster: cluster.Name}); err != nil {
		return nil, err
	}
	for i := range l.Items {
		if !kube.BelongsTo(&l.Items[i], cluster) {
			continue
		}
		for _, a := range parseCertificates(l.Items[i].Data[CAKey]) {
			if fingerprint(a) == wanted {
				return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Raw}), nil
			}
		}
	}
	return nil, nil
}
