package observe

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
)

// Rendered is what the objects of a cluster are compared with, as far as this
// package does not know it. The zero value compares nothing.
type Rendered struct {
	// Ports of the headless service.
	Ports []corev1.ServicePort
	// Workload renders the workload of that member, with the peers that the
	// live one names. whole is false where the live one's template is of
	// another version of this tool, so that its values say nothing.
	Workload func(member string, live *appsv1.StatefulSet) (want *appsv1.StatefulSet, whole bool)
	// JoinLimit reads from a member's pod, of that version, what it tells of how many may be joining side by side.
	JoinLimit func(version string, pod corev1.PodSpec) int
	// Archive renders what archives the log; nil where none is wanted, or where it is about to change.
	Archive func(Facts) *appsv1.StatefulSet
}

// differences compares what the lists hold with what this tool renders. It is
// pure. A cluster that has not formed yet is still being made.
func (s *snapshot) differences(c *v1alpha1.DatabaseCluster, made Rendered) []drift.Difference {
	if made.Workload == nil || founding(c) {
		return nil
	}
	out := s.serviceDifferences(c, made)
	out = append(out, s.budgetDifferences(c)...)
	for _, m := range s.names(c) {
		out = append(out, s.volumeDifferences(c, m)...)
		out = append(out, s.workloadDifferences(c, m, made)...)
		out = append(out, s.podDifferences(c, m)...)
	}
	return out
}

func (s *snapshot) serviceDifferences(c *v1alpha1.DatabaseCluster, made Rendered) []drift.Difference {
	var out []drift.Difference
	for _, want := range workload.BuildServices(c, made.Ports) {
		have := s.service(want.Name)
		if have == nil {
			out = append(out, drift.MissingObject("Service", want.Name, ""))
			continue
		}
		out = append(out, drift.ComparisonOf(want).Of("Service", want.Name, "").Differences(want, have)...)
	}
	return out
}

func (s *snapshot) budgetDifferences(c *v1alpha1.DatabaseCluster) []drift.Difference {
	name, quorum := workload.BudgetName(c.Name), c.Spec.Members/2+1
	have := s.budget(c)
	switch {
	case c.Spec.Members < 2:
		return nil
	case have == nil:
		return []drift.Difference{drift.MissingObject("PodDisruptionBudget", name, "")}
	}
	if m := have.Spec.MinAvailable; m != nil && m.IntVal > quorum {
		quorum = m.IntVal // of a size that the cluster had, or is about to have
	}
	want := workload.BuildBudget(c, quorum)
	return drift.ComparisonOf(want).Of("PodDisruptionBudget", name, "").Differences(want, have)
}

// names are the members of this formation of which a volume or workload exists.
func (s *snapshot) names(c *v1alpha1.DatabaseCluster) []string {
	var out []string
	note := func(o metav1.Object) {
		name := o.GetName()
		if o.GetAnnotations()[kube.AnnotationToken] == kube.Token(c) && v1alpha1.MemberNumber(c.Name, name) > 0 &&
			!slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	for i := range s.claims.Items {
		note(&s.claims.Items[i])
	}
	for i := range s.workloads.Items {
		note(&s.workloads.Items[i])
	}
	slices.Sort(out)
	return out
}

func (s *snapshot) volumeDifferences(c *v1alpha1.DatabaseCluster, member string) []drift.Difference {
	have := s.claim(member)
	if have == nil {
		return nil // its copy of the data is lost, which is told of the member
	}
	want := workload.BuildVolume(c, member)
	// One that was grown by hand, or in a step that was taken back, stays as it is.
	if size := have.Spec.Resources.Requests[corev1.ResourceStorage]; size.Cmp(c.Spec.Storage.Size) > 0 {
		want.Spec.Resources.Requests[corev1.ResourceStorage] = size
	}
	return drift.ComparisonOf(want).Of("PersistentVolumeClaim", member, member).Differences(want, have)
}

func (s *snapshot) workloadDifferences(c *v1alpha1.DatabaseCluster, member string, made Rendered) []drift.Difference {
	have := s.workload(member)
	if have == nil {
		if c.Spec.Stopped || s.claim(member) == nil {
			return nil
		}
		return []drift.Difference{drift.MissingObject("StatefulSet", member, member)}
	}
	want, whole := made.Workload(member, have)
	if want == nil {
		return nil
	}
	compare := drift.ComparisonOf(want).Of("StatefulSet", member, member)
	want.Annotations = kube.Merged(kube.ObjectMeta(c, member, nil).Annotations,
		map[string]string{kube.AnnotationToken: kube.Token(c)})
	if !whole {
		// Its own version rendered it, and only who set a field tells of a change.
		compare.Unknown = true
		want.Spec.Template = have.Spec.Template
		want.Labels = maps.Clone(want.Labels)
		want.Labels[kube.LabelVersion] = have.Labels[kube.LabelVersion]
	}
	return compare.Differences(want, have)
}

// podDifferences compares the labels by which services and the workload find
// a pod, and for an image that was given to the pod itself.
func (s *snapshot) podDifferences(c *v1alpha1.DatabaseCluster, member string) []drift.Difference {
	name := v1alpha1.PodName(member)
	i := slices.IndexFunc(s.pods.Items, func(o corev1.Pod) bool { return o.Name == name })
	if i < 0 {
		return nil
	}
	want, have := &corev1.Pod{}, &s.pods.Items[i]
	want.Labels = kube.Merged(kube.MemberSelector(c.Name), map[string]string{v1alpha1.LabelMember: member})
	want.OwnerReferences = have.OwnerReferences
	var out []drift.Difference
	for _, d := range (drift.Comparison{Object: drift.Reference("Pod", name), Member: member,
		Added: []string{"spec.containers"}, Unknown: true}).Differences(want, have) {
		if d.Is("metadata.labels") || d.Is("spec") {
			out = append(out, d)
		}
	}
	return out
}
