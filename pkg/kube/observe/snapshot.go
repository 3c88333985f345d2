package observe

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
)

// eventsAfter is how long Kubernetes may take to create a pod or bind a volume
// before events are asked for the reason.
const eventsAfter = 3 * time.Second

// facts is pure.
func (s *snapshot) facts(c *v1alpha1.DatabaseCluster, now time.Time) Facts {
	f := Facts{Members: s.members(c, now), Certificates: s.certificates(c), Services: s.servicesExist(c)}
	for i := range s.budgets.Items {
		if b := &s.budgets.Items[i]; b.Name == workload.BudgetName(c.Name) && kube.BelongsTo(b, c) &&
			b.DeletionTimestamp == nil && b.Spec.MinAvailable != nil {
			n := b.Spec.MinAvailable.IntVal
			f.Budget = &n
		}
	}
	if o := s.service(v1alpha1.ClientService(c.Name)); o != nil {
		f.Direct, f.LedTo = o.Spec.PublishNotReadyAddresses, o.Spec.Selector[v1alpha1.LabelMember]
		if to := o.Spec.Selector[v1alpha1.LabelCluster]; to != c.Name {
			f.SentTo = to
		}
	}
	if w := s.workload(v1alpha1.Archive(c.Name)); w != nil && kube.BelongsTo(w, c) {
		f.Archive = archiveFacts(w)
	}
	for i := range s.pods.Items {
		if p := &s.pods.Items[i]; p.Labels[v1alpha1.LabelPurpose] != "" {
			f.Helpers = append(f.Helpers, HelperFacts(p, now))
		}
	}
	slices.SortFunc(f.Helpers, func(a, b Helper) int { return cmp.Compare(a.Name, b.Name) })
	if founding(c) {
		_, f.Leftovers = s.sorted(c)
	}
	return f
}

// sorted tells the cluster's objects from those of an earlier cluster of the
// same name. Volumes and pods do not count: volumes outlive a cluster, and
// pods follow their workload.
func (s *snapshot) sorted(c *v1alpha1.DatabaseCluster) (ours int, leftovers []string) {
	sort := func(kind string, o metav1.Object) {
		switch {
		case kube.BelongsTo(o, c):
			ours++
		default:
			leftovers = append(leftovers, kind+"/"+o.GetName())
		}
	}
	for i := range s.workloads.Items {
		sort("statefulset", &s.workloads.Items[i])
	}
	for i := range s.services.Items {
		sort("service", &s.services.Items[i])
	}
	for i := range s.budgets.Items {
		sort("poddisruptionbudget", &s.budgets.Items[i])
	}
	for i := range s.secrets.Items {
		sort("secret", &s.secrets.Items[i])
	}
	slices.Sort(leftovers)
	return ours, leftovers
}

// members merges volumes, workloads and pods by the member that they name.
func (s *snapshot) members(c *v1alpha1.DatabaseCluster, now time.Time) []Member {
	byName := map[string]*Member{}
	of := func(o metav1.Object) *Member {
		// By its name: a label can be changed, and another pod of a workload bears the same.
		name := o.GetName()
		if _, pod := o.(*corev1.Pod); pod {
			name = strings.TrimSuffix(name, v1alpha1.PodName(""))
			if v1alpha1.PodName(name) != o.GetName() {
				return nil
			}
		}
		if v1alpha1.MemberNumber(c.Name, name) == 0 {
			return nil
		}
		if byName[name] == nil {
			byName[name] = &Member{Name: name}
		}
		return byName[name]
	}
	for i := range s.claims.Items {
		if m := of(&s.claims.Items[i]); m != nil {
			m.Volume = volumeFacts(&s.claims.Items[i])
		}
	}
	for i := range s.workloads.Items {
		if m := of(&s.workloads.Items[i]); m != nil {
			m.Workload = workloadFacts(&s.workloads.Items[i])
		}
	}
	pods := map[string]*corev1.Pod{}
	for i := range s.pods.Items {
		p := &s.pods.Items[i]
		if p.Labels[v1alpha1.LabelPurpose] != "" {
			continue
		}
		if m := of(p); m != nil {
			m.Pod, pods[m.Name] = PodFacts(p, now), p
			if m.Volume.Exists && !m.Volume.Bound && m.Volume.Problem == nil {
				m.Volume.Problem = bindingProblem(p)
			}
		}
	}
	out := make([]Member, 0, len(byName))
	for _, m := range byName {
		m.Unused = unused(s.claim(m.Name), s.workload(m.Name), pods[m.Name])
		out = append(out, *m)
	}
	slices.SortFunc(out, func(a, b Member) int {
		return cmp.Compare(v1alpha1.MemberNumber(c.Name, a.Name), v1alpha1.MemberNumber(c.Name, b.Name))
	})
	return out
}

func (s *snapshot) certificates(c *v1alpha1.DatabaseCluster) bool {
	if c.Spec.TLS.Disabled || !founding(c) {
		return true
	}
	missing := map[string]bool{v1alpha1.CASecret(c.Name): true, v1alpha1.AdminSecret(c.Name): true,
		v1alpha1.ClientSecret(c.Name): true}
	for i := range s.secrets.Items {
		if o := &s.secrets.Items[i]; kube.BelongsTo(o, c) && o.DeletionTimestamp == nil {
			delete(missing, o.Name)
		}
	}
	return len(missing) == 0
}

func (s *snapshot) servicesExist(c *v1alpha1.DatabaseCluster) bool {
	missing := map[string]bool{v1alpha1.HeadlessService(c.Name): true, v1alpha1.ClientService(c.Name): true}
	for i := range s.services.Items {
		if o := &s.services.Items[i]; kube.BelongsTo(o, c) && o.DeletionTimestamp == nil && len(o.Spec.Ports) > 0 {
			delete(missing, o.Name)
		}
	}
	return len(missing) == 0
}

// overdue names members whose pod or volume does not come although it had time.
func (s *snapshot) overdue(f Facts, now time.Time) []string {
	var out []string
	for _, m := range f.Members {
		w, v := s.workload(m.Name), s.claim(m.Name)
		noPod := w != nil && !m.Pod.Exists && !m.Workload.Terminating && now.Sub(w.CreationTimestamp.Time) > eventsAfter
		unbound := v != nil && !m.Volume.Bound && !m.Volume.Terminating && now.Sub(v.CreationTimestamp.Time) > eventsAfter
		if noPod || unbound {
			out = append(out, m.Name)
		}
	}
	return out
}
