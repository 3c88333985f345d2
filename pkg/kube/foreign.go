package kube

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// foreign lists what bears one of the cluster's names but belongs to somebody
// else: applying over it would take it away from its owner.
func (s *snapshot) foreign(c *v1alpha1.DatabaseCluster) []string {
	services := []string{v1alpha1.HeadlessService(c.Name), v1alpha1.ClientService(c.Name)}
	var secrets, members []string
	for n := 1; n <= int(c.Spec.Members); n++ {
		members = append(members, v1alpha1.MemberName(c.Name, n))
	}
	if !c.Spec.TLS.Disabled {
		secrets = []string{v1alpha1.CASecret(c.Name), v1alpha1.AdminSecret(c.Name), v1alpha1.ClientSecret(c.Name)}
		for _, m := range members {
			secrets = append(secrets, v1alpha1.MemberSecret(m))
		}
	}
	var out []string
	note := func(kind string, o metav1.Object, names []string) {
		if slices.Contains(names, o.GetName()) && o.GetLabels()[v1alpha1.LabelCluster] != c.Name {
			out = append(out, kind+"/"+o.GetName())
		}
	}
	for i := range s.services.Items {
		note("service", &s.services.Items[i], services)
	}
	for i := range s.secrets.Items {
		note("secret", &s.secrets.Items[i], secrets)
	}
	for i := range s.workloads.Items {
		note("statefulset", &s.workloads.Items[i], members)
	}
	for i := range s.claims.Items {
		note("persistentvolumeclaim", &s.claims.Items[i], members)
	}
	for i := range s.budgets.Items {
		note("poddisruptionbudget", &s.budgets.Items[i], []string{budgetName(c.Name)})
	}
	slices.Sort(out)
	return out
}
