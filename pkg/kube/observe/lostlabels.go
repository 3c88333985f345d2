package observe

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
)

// findUnlabelled asks by name for what the lists lack, and adds what only lost
// its label. Where nothing is missing it makes no request.
func findUnlabelled(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster, s *snapshot) error {
	key := func(name string) client.ObjectKey { return client.ObjectKey{Namespace: cluster.Namespace, Name: name} }
	for _, name := range []string{v1alpha1.HeadlessService(cluster.Name), v1alpha1.ClientService(cluster.Name)} {
		o := &corev1.Service{}
		if found, err := c.FindUnlabelled(ctx, cluster, s.service(name) != nil, key(name), o); err != nil {
			return err
		} else if found {
			s.services.Items = append(s.services.Items, *o)
		}
	}
	o := &policyv1.PodDisruptionBudget{}
	if found, err := c.FindUnlabelled(ctx, cluster, s.budget(cluster) != nil || cluster.Spec.Members < 2,
		key(workload.BudgetName(cluster.Name)), o); err != nil {
		return err
	} else if found {
		s.budgets.Items = append(s.budgets.Items, *o)
	}
	for _, name := range s.incomplete(cluster) {
		v, w := &corev1.PersistentVolumeClaim{}, &appsv1.StatefulSet{}
		if found, err := c.FindUnlabelled(ctx, cluster, s.claim(name) != nil, key(v1alpha1.VolumeName(name)),
			v); err != nil {
			return err
		} else if found {
			s.claims.Items = append(s.claims.Items, *v)
		}
		if found, err := c.FindUnlabelled(ctx, cluster, s.workload(name) != nil || cluster.Spec.Stopped, key(name),
			w); err != nil {
			return err
		} else if found {
			s.workloads.Items = append(s.workloads.Items, *w)
		}
	}
	return nil
}

// incomplete are members that lack a volume or a workload, and, if there are
// fewer members than wanted, the names that nothing bears.
func (s *snapshot) incomplete(c *v1alpha1.DatabaseCluster) []string {
	var out []string
	names := s.names(c)
	for _, name := range names {
		if s.claim(name) == nil || s.workload(name) == nil && !c.Spec.Stopped {
			out = append(out, name)
		}
	}
	for n := 1; n <= int(c.Spec.Members) && len(names) < int(c.Spec.Members); n++ {
		if name := v1alpha1.MemberName(c.Name, n); s.claim(name) == nil && s.workload(name) == nil {
			out = append(out, name)
		}
	}
	return out
}
