package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// ConfigMaps keeps clusters and operations in ConfigMaps, so that nothing
// has to be installed. No object of it holds a secret. Identity, resource
// version and deletion are the ConfigMap's; the generation is counted inside.
type ConfigMaps struct{ client *kube.Client }

var _ Store = (*ConfigMaps)(nil)

// NewConfigMaps makes a Store; it makes no request.
func NewConfigMaps(c *kube.Client) *ConfigMaps { return &ConfigMaps{client: c} }

// GetCluster reads one cluster; ErrNotFound if there is none.
func (s *ConfigMaps) GetCluster(ctx context.Context, namespace, name string) (*v1alpha1.DatabaseCluster, error) {
	m, err := s.get(ctx, namespace, v1alpha1.Record(name))
	if err != nil {
		return nil, err
	}
	return decodeCluster(m)
}

// ListClusters lists clusters by a label selector, sorted by namespace and name.
// With ErrDamaged the list is complete but for the records that the error names.
func (s *ConfigMaps) ListClusters(ctx context.Context, namespace, selector string) ([]v1alpha1.DatabaseCluster, error) {
	if selector != "" {
		selector = "," + selector
	}
	maps, err := s.list(ctx, namespace, v1alpha1.LabelKind+"="+kindCluster+selector)
	if err != nil {
		return nil, err
	}
	out := make([]v1alpha1.DatabaseCluster, 0, len(maps))
	var damaged []error
	for i := range maps {
		c, err := decodeCluster(&maps[i])
		if err != nil {
			damaged = append(damaged, err)
			continue
		}
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b v1alpha1.DatabaseCluster) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out, errors.Join(damaged...)
}

// CreateCluster writes a new cluster at generation 1, or one whose record was
// lost or damaged at the generation of its copy; ErrExists if the name is taken,
// also by a ConfigMap that is not ours.
func (s *ConfigMaps) CreateCluster(ctx context.Context, c *v1alpha1.DatabaseCluster) error {
	m, err := encodeCluster(c, max(1, c.Generation))
	if err != nil {
		return err
	}
	err = s.client.API.Create(ctx, m)
	if errors.Is(err, kube.ErrExists) && c.Generation > 0 {
		err = s.replaceDamaged(ctx, m)
	}
	if err != nil {
		return err
	}
	return adoptCluster(c, m)
}

// replaceDamaged writes over a record that can't be read, and over nothing else.
// What people wrote into its metadata stays.
func (s *ConfigMaps) replaceDamaged(ctx context.Context, m *corev1.ConfigMap) error {
	old, err := s.get(ctx, m.Namespace, m.Name)
	if err != nil {
		return err
	}
	if _, err := decodeCluster(old); !errors.Is(err, ErrDamaged) {
		return &kube.RequestError{Verb: "create", Resource: "configmaps", Namespace: m.Namespace, Name: m.Name,
			Kind: kube.ErrExists}
	}
	old.Labels, old.Annotations, old.Data = kube.Merged(old.Labels, m.Labels),
		kube.Merged(old.Annotations, m.Annotations),
		m.Data
	if err := s.client.API.Update(ctx, old); err != nil {
		return err
	}
	old.DeepCopyInto(m)
	return nil
}

// UpdateCluster replaces the cluster. The generation grows if the wanted
// state changed, whatever the caller put there. What can't be observed is
// copied to the volume claims first, so that a repeat after a crash writes both.
// A copy that fails is made good by the next change: who may change the record
// alone is not kept from it.
func (s *ConfigMaps) UpdateCluster(ctx context.Context, c *v1alpha1.DatabaseCluster) error {
	old, err := s.GetCluster(ctx, c.Namespace, c.Name)
	if err != nil {
		return err
	}
	if old.ResourceVersion != c.ResourceVersion {
		return &kube.RequestError{Verb: "update", Resource: "configmaps", Namespace: c.Namespace,
			Name: v1alpha1.Record(c.Name), Kind: kube.ErrConflict}
	}
	m, err := encodeCluster(c, nextGeneration(old, c))
	if err != nil {
		return err
	}
	next := c.DeepCopy()
	next.Generation = nextGeneration(old, c)
	if copyOf(old) != copyOf(next) {
		_ = copyRecord(ctx, s.client, next)
	}
	if err := s.client.API.Update(ctx, m); err != nil {
		return err
	}
	return adoptCluster(c, m)
}

// DeleteCluster deletes the very cluster that was read. ErrNotFound on a repeat.
func (s *ConfigMaps) DeleteCluster(ctx context.Context, c *v1alpha1.DatabaseCluster) error {
	m := &corev1.ConfigMap{}
	m.Namespace, m.Name = c.Namespace, v1alpha1.Record(c.Name)
	return s.client.API.Delete(ctx, m, client.Preconditions{UID: &c.UID, ResourceVersion: &c.ResourceVersion})
}

func (s *ConfigMaps) get(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	m := &corev1.ConfigMap{}
	if err := s.client.API.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, m); err != nil {
		return nil, err
	}
	return m, nil
}

func (s *ConfigMaps) list(ctx context.Context, namespace, selector string) ([]corev1.ConfigMap, error) {
	parsed, err := labels.Parse(selector)
	if err != nil {
		return nil, fmt.Errorf("read label selector %q: %w", selector, err)
	}
	l := &corev1.ConfigMapList{}
	if err := s.client.API.List(ctx, l, client.InNamespace(namespace),
		client.MatchingLabelsSelector{Selector: parsed}); err != nil {
		return nil, err
	}
	return l.Items, nil
}
