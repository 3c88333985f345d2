package drift

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// TestSelectorWithOneKeyMore: a selector belongs to its last writer as a whole,
// and one key more takes every pod away from a service.
func TestSelectorWithOneKeyMore(t *testing.T) {
	service := func(managers map[string]string, selector map[string]string) *corev1.Service {
		s := &corev1.Service{Spec: corev1.ServiceSpec{Selector: selector}}
		for manager, fields := range managers {
			s.ManagedFields = append(s.ManagedFields, metav1.ManagedFieldsEntry{Manager: manager, Operation: "Apply",
				FieldsV1: metav1.NewFieldsV1(fields)})
		}
		return s
	}
	want := service(nil, map[string]string{"role": "db"})
	compared := ComparisonOf(want).Of("Service", "my-db", "")
	have := service(map[string]string{"kubectl-patch": `{"f:spec":{"f:selector":{}}}`}, map[string]string{"role": "db",
		"more": "yes"})
	all := compared.Differences(want, have)
	if len(all) != 1 || all[0].Field != "spec.selector" || all[0].By != "kubectl-patch" || all[0].Kind != Edited {
		t.Errorf("another selector gives %+v", all)
	}
	ours := service(map[string]string{v1alpha1.FieldManager: `{"f:spec":{"f:selector":{}}}`},
		map[string]string{"role": "db"})
	if diff := cmp.Diff([]Difference(nil), compared.Differences(want, ours)); diff != "" {
		t.Errorf("our own selector differs:\n%s", diff)
	}
}
