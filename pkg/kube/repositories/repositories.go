// Package repositories keeps what describes the repositories of a namespace: a ConfigMap that everybody may read,
// a Secret with what it takes to write, and a Secret of its own with what it takes to read what is encrypted.
package repositories

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
)

// kindRepository is the value of LabelKind.
const kindRepository = "repository"

// Get reads a description: ErrNotFound if there is none of that name. It takes the right to one ConfigMap.
func Get(ctx context.Context, c *kube.Client, namespace, name string) (bucket.Description, error) {
	m := &corev1.ConfigMap{}
	if err := c.API.Get(ctx, client.ObjectKey{Namespace: namespace, Name: v1alpha1.Repository(name)}, m); err != nil {
		return bucket.Description{}, err
	}
	return parse(m)
}

// GetSecrets reads what it takes to write, and with identity also what it takes to read, where the namespace has it.
// It takes the right to two or three Secrets by their names. What is missing in them, or them, is left out; that the
// Secret of a person is missing is ErrNotFound.
func GetSecrets(ctx context.Context, c *kube.Client, namespace string, d bucket.Description,
	identity bool) (bucket.Secrets, error) {
	out := bucket.Secrets{}
	for _, source := range sources(d, identity) {
		s := &corev1.Secret{}
		err := c.API.Get(ctx, client.ObjectKey{Namespace: namespace, Name: source.secret}, s)
		if errors.Is(err, kube.ErrNotFound) && source.own {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the keys of repository %s: %w", d.Name, err)
		}
		for _, key := range source.keys {
			if value, ok := s.Data[key]; ok {
				out[key] = value
			}
		}
	}
	return out, nil
}

// source is a Secret, and which of its keys count. Those that are the repository's own are written here.
type source struct {
	secret string
	own    bool
	keys   []string
}

// sources are the Secrets of a repository.
func sources(d bucket.Description, identity bool) []source {
	own := source{v1alpha1.Repository(d.Name), true, []string{bucket.FileSigningKey}}
	out := []source{}
	switch d.Credentials {
	case "":
	case own.secret:
		own.keys = append(own.keys, bucket.CredentialNames()...)
	default:
		out = append(out, source{d.Credentials, false, bucket.CredentialNames()})
	}
	out = append(out, own)
	if identity && d.Identity {
		out = append(out, source{v1alpha1.RepositoryIdentity(d.Name), true, []string{bucket.FileIdentity}})
	}
	return out
}

// List reads the descriptions of a namespace, by name. One that can't be read is an error beside the list.
func List(ctx context.Context, c *kube.Client, namespace string) ([]bucket.Description, error) {
	list := &corev1.ConfigMapList{}
	if err := c.API.List(ctx, list, client.InNamespace(namespace),
		client.MatchingLabels{v1alpha1.LabelKind: kindRepository}); err != nil {
		return nil, err
	}
	var out []bucket.Description
	var failed []error
	for i := range list.Items {
		d, err := parse(&list.Items[i])
		if err != nil {
			failed = append(failed, err)
			continue
		}
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b bucket.Description) int { return strings.Compare(a.Name, b.Name) })
	return out, errors.Join(failed...)
}

func parse(m *corev1.ConfigMap) (bucket.Description, error) {
	d, err := bucket.ParseDescription([]byte(m.Data[bucket.FileDescription]))
	if err == nil && v1alpha1.Repository(d.Name) != m.Name {
		err = fmt.Errorf("%w: it says that its name is %q", bucket.ErrDescription, d.Name)
	}
	if err != nil {
		return d, fmt.Errorf("read configmap %s/%s: %w", m.Namespace, m.Name, err)
	}
	return d, nil
}

// Save writes a repository, the ConfigMap last: without it there is none. Secrets that are not given stay as they
// are. A repeat does no harm. An object of that name that is none of a repository is left alone: ErrForeign.
func Save(ctx context.Context, c *kube.Client, namespace string, d bucket.Description, s bucket.Secrets) error {
	content, err := d.Encode()
	if err != nil {
		return err
	}
	for _, source := range sources(d, true) {
		if !source.own {
			continue // a person's
		}
		data := map[string][]byte{}
		for _, key := range source.keys {
			if value, ok := s[key]; ok {
				data[key] = value
			}
		}
		if err := saveSecret(ctx, c, meta(namespace, source.secret, d.Name), data); err != nil {
			return err
		}
	}
	m := &corev1.ConfigMap{ObjectMeta: meta(namespace, v1alpha1.Repository(d.Name), d.Name)}
	data := map[string]string{bucket.FileDescription: string(content)}
	return change(ctx, c, m, func() { m.Data = data })
}

func saveSecret(ctx context.Context, c *kube.Client, meta metav1.ObjectMeta, data map[string][]byte) error {
	s := &corev1.Secret{ObjectMeta: meta, Type: corev1.SecretTypeOpaque}
	return change(ctx, c, s, func() {
		s.Data = maps.Clone(s.Data)
		if s.Data == nil {
			s.Data = map[string][]byte{}
		}
		maps.Copy(s.Data, data)
	})
}

// change creates an object, or changes the one that is there, if that is ours.
func change(ctx context.Context, c *kube.Client, o client.Object, set func()) error {
	set()
	err := c.API.Create(ctx, o)
	if !errors.Is(err, kube.ErrExists) {
		return err
	}
	if err := c.API.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
		return err
	}
	if o.GetLabels()[v1alpha1.LabelKind] != kindRepository {
		return c.ForeignError("update", o)
	}
	set()
	return c.API.Update(ctx, o)
}

// Delete removes a repository's objects, the ConfigMap first, and never anything in the store. ErrNotFound if there
// is none of that name; what a removal that was killed left is removed then, too.
func Delete(ctx context.Context, c *kube.Client, namespace, name string) error {
	m := &corev1.ConfigMap{ObjectMeta: meta(namespace, v1alpha1.Repository(name), name)}
	gone := remove(ctx, c, m)
	if gone != nil && !errors.Is(gone, kube.ErrNotFound) {
		return gone
	}
	for _, secret := range []string{v1alpha1.Repository(name), v1alpha1.RepositoryIdentity(name)} {
		err := remove(ctx, c, &corev1.Secret{ObjectMeta: meta(namespace, secret, name)})
		if kube.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return gone
}

func remove(ctx context.Context, c *kube.Client, o client.Object) error {
	found, err := c.Metadata(ctx, o)
	if err != nil {
		return err
	}
	if found.Labels[v1alpha1.LabelKind] != kindRepository {
		return c.ForeignError("delete", o)
	}
	return c.API.Delete(ctx, o, client.Preconditions{UID: &found.UID})
}

func meta(namespace, name, repository string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{
		kube.LabelManagedBy: v1alpha1.FieldManager, v1alpha1.LabelKind: kindRepository, kube.LabelInstance: repository,
	}}
}
