package pki

import (
	"context"
	"crypto/tls"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/password"
)

// Secrets are a cluster's secrets with certificates and passwords, as one request read them.
type Secrets struct {
	cluster *v1alpha1.DatabaseCluster
	items   []corev1.Secret
}

// ReadSecrets reads all secrets of a cluster: one request, and one more for each
// that is missing under its name and its label. Who may only read a secret by
// its name gets a ForbiddenError.
func ReadSecrets(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster, members []string) (*Secrets,
	error) {
	l := &corev1.SecretList{}
	if err := c.API.List(ctx, l, client.InNamespace(cluster.Namespace),
		client.MatchingLabels{v1alpha1.LabelCluster: cluster.Name}); err != nil {
		return nil, err
	}
	out := &Secrets{cluster: cluster, items: l.Items}
	for name := range out.wanted(members) {
		o := &corev1.Secret{}
		found, err := c.FindUnlabelled(ctx, cluster, out.named(name) != nil, client.ObjectKey{Namespace: cluster.Namespace,
			Name: name}, o)
		if err != nil {
			return nil, err
		}
		if found {
			out.items = append(out.items, *o)
		}
	}
	return out, nil
}

// wanted are the names of the secrets that there should be, with the member that each is of.
func (s *Secrets) wanted(members []string) map[string]string {
	out := map[string]string{}
	for _, user := range s.cluster.PasswordUsers() {
		out[v1alpha1.PasswordSecret(s.cluster.Name, user)] = ""
	}
	if s.cluster.Spec.TLS.Disabled {
		return out
	}
	for _, name := range []string{v1alpha1.CASecret(s.cluster.Name), v1alpha1.AdminSecret(s.cluster.Name),
		v1alpha1.ClientSecret(s.cluster.Name)} {
		out[name] = ""
	}
	for _, m := range members {
		out[v1alpha1.MemberSecret(m)] = m
	}
	return out
}

func (s *Secrets) named(name string) *corev1.Secret {
	for i := range s.items {
		if s.items[i].Name == name {
			return &s.items[i]
		}
	}
	return nil
}

// ClientTLS is what Client.ClientTLS reads; ErrNotFound without the secret.
func (s *Secrets) ClientTLS() (*tls.Config, *Certificate, error) {
	name := v1alpha1.AdminSecret(s.cluster.Name)
	secret := s.named(name)
	if secret == nil {
		return nil, nil, &kube.RequestError{Verb: "get", Resource: "secrets", Namespace: s.cluster.Namespace, Name: name,
			Kind: kube.ErrNotFound}
	}
	return clientTLS(s.cluster, secret)
}

// Leaves are the certificates of users and members.
func (s *Secrets) Leaves() []Certificate {
	var out []Certificate
	for i := range s.items {
		o := &s.items[i]
		ours := kube.BelongsTo(o, s.cluster) || kube.Unlabelled(o, s.cluster)
		if o.Type == corev1.SecretTypeTLS && o.Name != v1alpha1.CASecret(s.cluster.Name) && ours &&
			o.DeletionTimestamp == nil {
			out = append(out, certificateFacts(s.cluster, o))
		}
	}
	return out
}

// Differences compares the secrets with what those members, users and this
// tool need: present, readable, signed by the cluster's authority and valid.
func (s *Secrets) Differences(members []string, now time.Time) []drift.Difference {
	var out []drift.Difference
	wanted := s.wanted(members)
	trusted := s.trusted()
	names := make([]string, 0, len(wanted))
	for name := range wanted {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		have, member := s.named(name), wanted[name]
		if have == nil {
			out = append(out, drift.MissingObject("Secret", name, member))
			continue
		}
		want := secretMetadata(s.cluster, name, member)
		out = append(out, drift.ComparisonOf(want).Of("Secret", name, member).Differences(want, have)...)
		if problem := s.problem(have, trusted, now); problem != "" {
			d := drift.Difference{Object: drift.Reference("Secret", name), Member: member, Kind: drift.Unusable,
				Field: "data",
				Have:  problem}
			if who, ok := drift.OwnersOf(have.GetManagedFields()).Other(drift.Path{"data"}); ok {
				d.By, d.Since = who.Manager, who.Since
			}
			out = append(out, d)
		}
	}
	return out
}

// secretMetadata is a secret without its content, of a member or of the whole cluster.
func secretMetadata(c *v1alpha1.DatabaseCluster, name, member string) *corev1.Secret {
	labels := kube.ObjectLabels(c, kube.ComponentDatabase)
	if member != "" {
		labels = kube.MemberLabels(c, member)
	}
	return &corev1.Secret{ObjectMeta: kube.ObjectMeta(c, name, labels)}
}

// trusted are the fingerprints of the authorities that may have signed; nil if
// the authority can't be read, which is told of it alone.
func (s *Secrets) trusted() []string {
	ca := s.named(v1alpha1.CASecret(s.cluster.Name))
	if ca == nil {
		return nil
	}
	t := trustFacts(ca)
	if t.Problem != "" {
		return nil
	}
	var out []string
	for _, a := range t.Bundle() {
		out = append(out, a.Fingerprint)
	}
	return out
}

// problem says why a secret can't be used, "" if it can. That one ends soon
// is told elsewhere.
func (s *Secrets) problem(o *corev1.Secret, trusted []string, now time.Time) string {
	if o.Name == v1alpha1.CASecret(s.cluster.Name) {
		return trustFacts(o).Problem
	}
	if slices.ContainsFunc(s.cluster.PasswordUsers(),
		func(u string) bool { return o.Name == v1alpha1.PasswordSecret(s.cluster.Name, u) }) {
		if _, err := password.FromSecret(o); err != nil {
			return "it holds no user name and password"
		}
		return ""
	}
	switch l := certificateFacts(s.cluster, o); {
	case l.Problem != "":
		return l.Problem
	case trusted != nil && !slices.Contains(trusted, l.Signer):
		return "its certificate is signed by another authority than " + v1alpha1.CASecret(s.cluster.Name)
	case !now.Before(l.NotAfter):
		return "its certificate ran out on " + l.NotAfter.UTC().Format(time.RFC3339)
	}
	return ""
}
