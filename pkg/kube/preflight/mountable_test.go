package preflight

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
)

func TestWhereMounted(t *testing.T) {
	type modes []corev1.PersistentVolumeAccessMode
	for name, row := range map[string]struct {
		asked, have modes
		want        Mountable
	}{
		"any node":      {nil, modes{corev1.ReadWriteMany}, OnAnyNode},
		"one node":      {nil, modes{corev1.ReadWriteOnce}, OnOneNode},
		"both":          {nil, modes{corev1.ReadWriteOnce, corev1.ReadWriteMany}, OnAnyNode},
		"one pod":       {nil, modes{corev1.ReadWriteOncePod}, ByOnePod},
		"nobody writes": {nil, modes{corev1.ReadOnlyMany}, ByOnePod},
		"no volume yet": {modes{corev1.ReadWriteMany}, nil, OnAnyNode},
		"less than was asked for": {modes{corev1.ReadWriteOnce, corev1.ReadWriteMany}, modes{corev1.ReadWriteOnce},
			OnOneNode},
	} {
		t.Run(name, func(t *testing.T) {
			c, api := kubetest.New(t, interceptor.Funcs{})
			if _, err := WhereMounted(t.Context(), c, "shop", "backups"); !errors.Is(err, kube.ErrNotFound) {
				t.Errorf("there is none: %v", err)
			}
			made := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "backups"},
				Spec:   corev1.PersistentVolumeClaimSpec{AccessModes: row.asked},
				Status: corev1.PersistentVolumeClaimStatus{AccessModes: row.have}}
			if err := api.Create(t.Context(), made); err != nil {
				t.Fatal(err)
			}
			if got, err := WhereMounted(t.Context(), c, "shop", "backups"); got != row.want || err != nil {
				t.Errorf("%q, %v, want %q", got, err, row.want)
			}
		})
	}
}
