package planner

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

func TestSettingsDigest(t *testing.T) {
	t.Parallel()
	memory := func(q string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(q)}}
	}
	base := func() *v1alpha1.DatabaseCluster {
		c := opstest.Well(3).Cluster
		c.Spec.Config, c.Spec.Resources = map[string]string{"speed": "low", "depth": "1"}, memory("1Gi")
		return c
	}
	digest := func(change func(*v1alpha1.DatabaseCluster)) string {
		c := base()
		change(c)
		d, err := rules.SettingsDigest(opstest.Stub{}, c)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	same := digest(func(*v1alpha1.DatabaseCluster) {})
	for name, c := range map[string]struct {
		change func(*v1alpha1.DatabaseCluster)
		other  bool
	}{
		"an option": {func(c *v1alpha1.DatabaseCluster) { c.Spec.Config["speed"] = "high" }, true},
		"resources": {func(c *v1alpha1.DatabaseCluster) { c.Spec.Resources = memory("2Gi") }, true},
		"an image":  {func(c *v1alpha1.DatabaseCluster) { c.Spec.Image = "mine" }, true},
		"resources written in another unit": {func(c *v1alpha1.DatabaseCluster) { c.Spec.Resources = memory("1024Mi") },
			false},
		"an empty list of requests": {func(c *v1alpha1.DatabaseCluster) {
			c.Spec.Resources.Requests = corev1.ResourceList{}
		}, false},
		"size":     {func(c *v1alpha1.DatabaseCluster) { c.Spec.Members = 5 }, false},
		"founding": {func(c *v1alpha1.DatabaseCluster) { c.Status.Bootstrap.Token = "u" }, false},
		"a stop":   {func(c *v1alpha1.DatabaseCluster) { c.Spec.Stopped = true }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := digest(c.change); (got != same) != c.other {
				t.Errorf("other digest: %v, want %v", got != same, c.other)
			}
		})
	}
}
