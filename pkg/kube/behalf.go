package kube

import (
	"cmp"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// Behalf limits a Client that acts for people whose own rights it does not
// know, as an operator does: who may write a custom resource must not read
// secrets, or have certificates signed, through it. The zero value limits
// nothing: the command line acts with the rights of the person.
type Behalf struct {
	// Limited reads a secret that an object names only if it carries
	// v1alpha1.LabelUse, and asks Issuers of the cluster's namespace only.
	Limited bool
	// ClusterIssuers lets a limited client ask every kind of issuer.
	ClusterIssuers bool
}

// ErrNotOffered: a secret is there, and nobody said that clusters may use it.
var ErrNotOffered = errors.New("the operator may not read it for a custom resource")

// CheckSecret returns an error unless the cluster may use the secret.
func (b Behalf) CheckSecret(s *corev1.Secret, cluster *v1alpha1.DatabaseCluster) error {
	if !b.Limited || BelongsTo(s, cluster) || s.Labels[v1alpha1.LabelUse] == v1alpha1.UseCluster {
		return nil
	}
	return fmt.Errorf("secret %s/%s: %w; to allow it: kubectl label secret %s -n %s %s=%s",
		s.Namespace, s.Name, ErrNotOffered, s.Name, s.Namespace, v1alpha1.LabelUse, v1alpha1.UseCluster)
}

// CheckIssuer returns an error unless the issuer may sign for custom resources.
func (b Behalf) CheckIssuer(issuer *v1alpha1.Issuer) error {
	own := cmp.Or(issuer.Kind, "Issuer") == "Issuer" &&
		cmp.Or(issuer.Group, CertificateRequestKind().Group) == CertificateRequestKind().Group
	if !b.Limited || b.ClusterIssuers || own {
		return nil
	}
	return fmt.Errorf("%s: %w: the operator asks only an Issuer of the cluster's namespace; "+
		"name one, or have its administrator install it with --allow-cluster-issuers", issuer, ErrAuthority)
}
