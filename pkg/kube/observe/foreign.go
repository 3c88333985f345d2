package observe

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
)

// foreignObjects lists what bears one of the cluster's names but belongs to somebody
// else: applying over it would take it away from its owner. It asks for each
// name by itself: a list of a whole namespace costs as much as the namespace
// holds, and a hundred clusters that are made at once would each ask for it.
func foreignObjects(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster) ([]string, error) {
	var mu sync.Mutex
	var out []string
	g, bounded := errgroup.WithContext(ctx)
	for _, o := range taken(cluster) {
		g.Go(func() error {
			found, err := c.Metadata(bounded, o)
			if errors.Is(err, kube.ErrNotFound) {
				return nil
			}
			if err == nil && found.Labels[v1alpha1.LabelCluster] != cluster.Name {
				mu.Lock()
				defer mu.Unlock()
				out = append(out, strings.ToLower(found.Kind)+"/"+found.Name)
			}
			return err
		})
	}
	err := g.Wait()
	slices.Sort(out)
	return out, err
}

// taken are the objects that a cluster is about to make, by kind and name.
func taken(c *v1alpha1.DatabaseCluster) []client.Object {
	var out []client.Object
	note := func(o client.Object, name string) {
		o.SetNamespace(c.Namespace)
		o.SetName(name)
		out = append(out, o)
	}
	note(&corev1.Service{}, v1alpha1.HeadlessService(c.Name))
	note(&corev1.Service{}, v1alpha1.ClientService(c.Name))
	note(&policyv1.PodDisruptionBudget{}, workload.BudgetName(c.Name))
	for n := 1; n <= int(c.Spec.Members); n++ {
		note(&appsv1.StatefulSet{}, v1alpha1.MemberName(c.Name, n))
		note(&corev1.PersistentVolumeClaim{}, v1alpha1.VolumeName(v1alpha1.MemberName(c.Name, n)))
	}
	if c.Spec.TLS.Disabled {
		return out
	}
	for _, name := range []string{v1alpha1.CASecret(c.Name), v1alpha1.AdminSecret(c.Name),
		v1alpha1.ClientSecret(c.Name)} {
		note(&corev1.Secret{}, name)
	}
	for n := 1; n <= int(c.Spec.Members); n++ {
		note(&corev1.Secret{}, v1alpha1.MemberSecret(v1alpha1.MemberName(c.Name, n)))
	}
	return out
}

// started reports whether something was made for the cluster already. Volumes
// don't count: they outlive one.
func (s *snapshot) started(c *v1alpha1.DatabaseCluster) bool {
	ours, _ := s.sorted(c)
	return ours > 0
}
