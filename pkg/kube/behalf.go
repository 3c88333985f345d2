package kube

import (
	"cmp"
	"context"
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
	// Record reads the record of a cluster. A cluster that another one's record names as its successor may use the
	// secrets that this tool made for that one: who may write the record, or the custom resource that it follows, may
	// run any image with them anyway. nil: nobody is named.
	Record func(ctx context.Context, namespace, cluster string) (*v1alpha1.DatabaseCluster, error)
}

// ErrNotOffered: a secret is there, and nobody said that clusters may use it.
var ErrNotOffered = errors.New("the operator may not read it for a custom resource")

// CheckSecret returns an error unless the cluster may use the secret.
func (b Behalf) CheckSecret(ctx context.Context, s *corev1.Secret, cluster *v1alpha1.DatabaseCluster) error {
	if !b.Limited || BelongsTo(s, cluster) || s.Labels[v1alpha1.LabelUse] == v1alpha1.UseCluster {
		return nil
	}
	hint := fmt.Sprintf("kubectl label secret %s -n %s %s=%s", s.Name, s.Namespace, v1alpha1.LabelUse,
		v1alpha1.UseCluster)
	if former := cluster.Predecessor(); former != "" && s.Labels[v1alpha1.LabelCluster] == former {
		named, err := b.succeeds(ctx, s, cluster)
		if named || err != nil {
			return err
		}
		hint = fmt.Sprintf(`kubectl patch dbc %s -n %s --type=merge -p '{"spec":{"successor":%q}}'`, former, s.Namespace,
			cluster.Name)
	}
	return fmt.Errorf("secret %s/%s: %w; to allow it: %s", s.Namespace, s.Name, ErrNotOffered, hint)
}

// CheckSuccession returns an error unless the cluster may use the secrets of the one whose place it takes, also those
// that are not there yet.
func (b Behalf) CheckSuccession(ctx context.Context, cluster *v1alpha1.DatabaseCluster) error {
	root := &corev1.Secret{}
	root.Namespace, root.Name = cluster.Namespace, v1alpha1.PasswordSecret(cluster.Predecessor(), v1alpha1.AdminUser)
	root.Labels = map[string]string{v1alpha1.LabelCluster: cluster.Predecessor()}
	return b.CheckSecret(ctx, root, cluster)
}

// succeeds reports whether the cluster that a secret belongs to names this one.
func (b Behalf) succeeds(ctx context.Context, s *corev1.Secret, cluster *v1alpha1.DatabaseCluster) (bool, error) {
	if b.Record == nil {
		return false, nil
	}
	record, err := b.Record(ctx, cluster.Namespace, cluster.Predecessor())
	switch {
	case errors.Is(err, ErrNotFound):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read whom cluster %s/%s names as its successor: %w", cluster.Namespace,
			cluster.Predecessor(), err)
	}
	return record.Spec.Successor == cluster.Name && BelongsTo(s, record), nil
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
