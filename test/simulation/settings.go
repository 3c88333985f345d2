package simulation

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// tooSmall is less memory than any process of the database starts with.
const tooSmall = "1Mi"

// settings is the digest that a cluster's members are to bear.
func (w *world) settings(c *v1alpha1.DatabaseCluster) string {
	digest, err := rules.SettingsDigest(w.engine, c)
	if err != nil {
		w.violate("the settings of %s make no sense: %v", c.Name, err)
	}
	return digest
}

// unfit says why no process starts with a cluster's settings, "" if one does.
func unfit(c *v1alpha1.DatabaseCluster) string {
	if limit := c.Spec.Resources.Limits[corev1.ResourceMemory]; !limit.IsZero() &&
		limit.Cmp(resource.MustParse(tooSmall)) <= 0 {
		return "killed because it ran out of memory"
	}
	return ""
}

// grow asks for larger volumes, one request each.
func (s *site) grow(ctx context.Context, st ops.State, members []string) error {
	w, size := s.actor.world, st.Cluster.Spec.Storage.Size
	for _, m := range members {
		err := s.do(ctx, "grow volume of "+m, func() error {
			switch v := w.slot(s.cluster, m).volume; {
			case v == nil:
				return fmt.Errorf("volume %s: %w", m, kube.ErrNotFound)
			case v.size.Cmp(size) > 0:
				w.violate("%s makes volume %s smaller", s.actor.name, m)
			case v.size.Cmp(size) < 0:
				v.size, v.grownAt = size, w.now.Add(w.between(0, 10*time.Second))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// unbearable reports whether what is in flight asks members for settings that
// they don't start with.
func (w *world) unbearable(cluster string) bool {
	defer w.lock()()
	c, o := w.records.clusters[cluster], w.records.active(cluster)
	if c == nil || o == nil || !configures(o) {
		return false
	}
	asked := c.DeepCopy()
	o.Spec.Settings.Apply(&asked.Spec)
	return unfit(asked) != ""
}

// configures reports whether an operation asks for settings.
func configures(o *v1alpha1.Operation) bool {
	return o.Spec.Verb == v1alpha1.VerbConfigure || o.Spec.Verb == v1alpha1.VerbResize
}

// options draws a change of options.
func (p *person) options() *v1alpha1.SettingsChange {
	n := pick(p, []string{"", "5000", "20000"})
	if n == "" {
		return &v1alpha1.SettingsChange{Unset: []string{"snapshot-count"}}
	}
	return &v1alpha1.SettingsChange{Set: map[string]string{"snapshot-count": n}}
}

// storage draws a larger volume, which also changes what the database may store.
func (p *person) storage() *v1alpha1.SettingsChange {
	q := resource.MustParse(pick(p, []string{"8Gi", "10Gi", "12Gi"}))
	return &v1alpha1.SettingsChange{Size: &q}
}

// memory draws a change of memory, now and then to what nobody can live with.
func (p *person) memory() *v1alpha1.SettingsChange {
	if p.rng.Float64() < 0.3 {
		return p.storage()
	}
	q := resource.MustParse(pick(p, []string{tooSmall, "0", "1Gi", "2Gi"}))
	return &v1alpha1.SettingsChange{Limits: corev1.ResourceList{corev1.ResourceMemory: q}}
}
