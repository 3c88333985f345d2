package preflight

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
)

// claims are a repository's, bound, and a new member's, both of class fast; and a pod that has both of them.
type claims struct {
	shared, own *corev1.PersistentVolumeClaim
	class       *storagev1.StorageClass
	pod         *corev1.Pod
	// blind is who may not read storage classes.
	blind bool
}

func (c *claims) shares(mode corev1.PersistentVolumeAccessMode) {
	c.shared.Status.AccessModes = []corev1.PersistentVolumeAccessMode{mode}
}

func TestApart(t *testing.T) {
	immediate := storagev1.VolumeBindingImmediate
	for name, test := range map[string]struct {
		change func(*claims)
		want   string
	}{
		"nobody uses it":            {func(*claims) {}, ""},
		"a pod uses it":             {func(c *claims) { c.pod.Status.Phase = corev1.PodRunning }, "other uses claim backups"},
		"a pod is about to":         {func(c *claims) { c.pod.Status.Phase = corev1.PodPending }, "other uses claim backups"},
		"a pod that failed used it": {func(c *claims) { c.pod.Status.Phase = corev1.PodFailed }, ""},
		"this tool's own serves it": {func(c *claims) {
			c.pod.Status.Phase = corev1.PodRunning
			c.pod.Labels = map[string]string{v1alpha1.LabelPurpose: "repository"}
		}, ""},
		"a pod uses it, and any node may": {func(c *claims) {
			c.pod.Status.Phase = corev1.PodRunning
			c.shares(corev1.ReadWriteMany)
		}, ""},
		"it has no volume": {func(c *claims) { c.shared.Status.Phase = corev1.ClaimPending }, "backups has no volume"},
		"the member has one": {func(c *claims) { c.own.Spec.VolumeName = "pv-1" },
			"claim db-1 has a volume already"},
		"the member's is made anywhere": {func(c *claims) { c.class.VolumeBindingMode = &immediate },
			"may be made on another node"},
		"the member's is made in a zone": {func(c *claims) { c.class.AllowedTopologies = []corev1.TopologySelectorTerm{{}} },
			"may be made on another node"},
		"the member's has no class": {func(c *claims) { c.own.Spec.StorageClassName = nil }, "may be made on another node"},
		"classes can't be read":     {func(c *claims) { c.blind = true }, "may be made on another node"},
		"classes can't be read, but it is the same": {func(c *claims) {
			c.blind = true
			c.shared.Annotations = map[string]string{selectedNode: "node-a"}
		}, ""},
		"there is none": {func(c *claims) { c.shared.Name = "others" }, "backups"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClaims()
			test.change(c)
			k, api := kubetest.New(t, interceptor.Funcs{List: func(ctx context.Context, w client.WithWatch,
				l client.ObjectList, opts ...client.ListOption) error {
				if _, ok := l.(*storagev1.StorageClassList); ok && c.blind {
					return apierrors.NewForbidden(schema.GroupResource{Resource: "storageclasses"}, "", errors.New("no right"))
				}
				return w.List(ctx, l, opts...)
			}})
			for _, o := range []client.Object{c.shared, c.own, c.class, c.pod} {
				if err := api.Create(t.Context(), o); err != nil {
					t.Fatal(err)
				}
			}
			got, err := Apart(t.Context(), k, "shop", "backups", "db-1", "repository")
			if err != nil || (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

func newClaims() *claims {
	first := storagev1.VolumeBindingWaitForFirstConsumer
	c := &claims{
		shared: &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "backups"}},
		own:    &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db-1"}},
		class: &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: "example.com/disks",
			VolumeBindingMode: &first},
		pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "other"}},
	}
	c.shared.Spec.StorageClassName, c.own.Spec.StorageClassName = new("fast"), new("fast")
	c.shared.Status.Phase = corev1.ClaimBound
	c.shares(corev1.ReadWriteOnce)
	c.pod.Status.Phase = corev1.PodSucceeded
	for _, name := range []string{"backups", "db-1"} {
		c.pod.Spec.Volumes = append(c.pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}})
	}
	return c
}
