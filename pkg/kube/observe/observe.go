package observe

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
)

// snapshot is what the list calls returned.
type snapshot struct {
	pods      corev1.PodList
	workloads appsv1.StatefulSetList
	claims    corev1.PersistentVolumeClaimList
	services  corev1.ServiceList
	budgets   policyv1.PodDisruptionBudgetList
	// secrets without their data: nothing here has to know a key.
	secrets metav1.PartialObjectMetadataList
}

// Read reads what exists for a cluster: five requests, made at once, and one
// more for each member whose volume or pod is overdue. Secrets are asked
// for only until the cluster has formed: afterwards who misses one says so
// when it is used, and no reader needs the right to list them. What bears its
// names without its labels is asked for before anything is made; later every
// write checks by itself. It writes nothing.
func Read(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster, made Rendered) (Facts, error) {
	s := &snapshot{}
	s.secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	ours := []client.ListOption{client.InNamespace(cluster.Namespace),
		client.MatchingLabels{v1alpha1.LabelCluster: cluster.Name}}
	lists := []client.ObjectList{&s.pods, &s.workloads, &s.claims, &s.services, &s.budgets}
	if founding(cluster) {
		lists = append(lists, &s.secrets)
	}
	g, bounded := errgroup.WithContext(ctx)
	for _, l := range lists {
		g.Go(func() error { return c.API.List(bounded, l, ours...) })
	}
	err := g.Wait()
	if err != nil {
		return Facts{}, fmt.Errorf("observe cluster %s: %w", cluster.Name, err)
	}
	if made.Workload != nil && !founding(cluster) {
		if err := findUnlabelled(ctx, c, cluster, s); err != nil {
			return Facts{}, fmt.Errorf("observe cluster %s: %w", cluster.Name, err)
		}
	}
	now := c.Now()
	facts := s.facts(cluster, now)
	s.joinLimits(&facts, made)
	facts.Differences = append(s.differences(cluster, made), s.archiveDifferences(cluster, facts, made)...)
	if made.Workload != nil && !founding(cluster) {
		since, accounts, err := workload.AccountDifferences(ctx, c, cluster)
		if err != nil {
			return Facts{}, fmt.Errorf("observe cluster %s: %w", cluster.Name, err)
		}
		facts.Account, facts.Differences = since, append(facts.Differences, accounts...)
	}
	if founding(cluster) && !s.started(cluster) {
		if facts.Foreign, err = foreignObjects(ctx, c, cluster); err != nil {
			return Facts{}, fmt.Errorf("observe cluster %s: %w", cluster.Name, err)
		}
	}
	for _, name := range s.overdue(facts, now) {
		if err := addEvents(ctx, c, cluster, s, &facts, name); err != nil {
			return Facts{}, fmt.Errorf("observe cluster %s: %w", cluster.Name, err)
		}
	}
	return facts, nil
}

// founding reports whether names may still be taken by somebody else.
func founding(c *v1alpha1.DatabaseCluster) bool {
	return c.Status.Bootstrap == nil || c.Status.Bootstrap.ClusterID == ""
}

// addEvents asks the events of a member why its pod or volume does not come.
// They are a courtesy: without the right to read them facts are as they are.
func addEvents(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster, s *snapshot, f *Facts,
	member string) error {
	var events corev1.EventList
	err := c.API.List(ctx, &events, client.InNamespace(cluster.Namespace),
		client.MatchingFields{"involvedObject.name": member})
	if _, ok := errors.AsType[*kube.ForbiddenError](err); ok {
		return nil
	}
	if err != nil {
		return err
	}
	for i := range f.Members {
		m := &f.Members[i]
		if m.Name != member {
			continue
		}
		if w := s.workload(member); w != nil && !m.Pod.Exists {
			m.Pod.Problem = creationProblem(events.Items, w)
		}
		if v := s.claim(member); v != nil && !m.Volume.Bound {
			// The provisioner knows more than the scheduler: it names the class.
			if p := provisioningProblem(events.Items, v); p != nil {
				m.Volume.Problem = p
			}
		}
	}
	return nil
}

func (s *snapshot) workload(name string) *appsv1.StatefulSet {
	for i := range s.workloads.Items {
		if s.workloads.Items[i].Name == name {
			return &s.workloads.Items[i]
		}
	}
	return nil
}

func (s *snapshot) service(name string) *corev1.Service {
	for i := range s.services.Items {
		if s.services.Items[i].Name == name {
			return &s.services.Items[i]
		}
	}
	return nil
}

func (s *snapshot) budget(c *v1alpha1.DatabaseCluster) *policyv1.PodDisruptionBudget {
	for i := range s.budgets.Items {
		if s.budgets.Items[i].Name == workload.BudgetName(c.Name) {
			return &s.budgets.Items[i]
		}
	}
	return nil
}

func (s *snapshot) claim(name string) *corev1.PersistentVolumeClaim {
	for i := range s.claims.Items {
		if s.claims.Items[i].Name == name {
			return &s.claims.Items[i]
		}
	}
	return nil
}
