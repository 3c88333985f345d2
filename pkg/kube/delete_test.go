package kube

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestDeletePodSparesTheSuccessor(t *testing.T) {
	var seen string
	c, _ := newFake(t, interceptor.Funcs{Delete: func(_ context.Context, _ client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
		o := client.DeleteOptions{}
		o.ApplyOptions(opts)
		seen = string(*o.Preconditions.UID)
		return apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, obj.GetName(), errors.New("the UID in the precondition does not match"))
	}})
	if err := c.DeletePod(t.Context(), "shop", "db-1-0", "old"); err != nil {
		t.Errorf("the pod is gone, which was wanted: %v", err)
	}
	if seen != "old" {
		t.Errorf("precondition %q, want old", seen)
	}
}

func TestDeletesAreIdempotentAndOnlyOfOurs(t *testing.T) {
	meta := func(labels map[string]string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "shop", Name: "db-1", Labels: labels}
	}
	c, _ := newFake(t, interceptor.Funcs{}, &corev1.PersistentVolumeClaim{ObjectMeta: meta(memberLabels(testCluster(), "db-1"))})
	for range 2 {
		if err := c.DeleteVolume(t.Context(), "shop", "db-1"); err != nil {
			t.Errorf("delete: %v", err)
		}
	}
	for _, err := range []error{
		c.DeleteWorkload(t.Context(), "shop", "db-1"), c.DeleteMemberCertificate(t.Context(), "shop", "db-1"),
		c.DeletePod(t.Context(), "shop", "db-1-0", "x"), c.DeleteHelper(t.Context(), "shop", "x"),
	} {
		if err != nil {
			t.Errorf("delete of what is not there: %v", err)
		}
	}
	c, _ = newFake(t, interceptor.Funcs{}, &corev1.PersistentVolumeClaim{ObjectMeta: meta(nil)}, &corev1.Pod{ObjectMeta: meta(memberLabels(testCluster(), "db-1"))})
	if err := c.DeleteVolume(t.Context(), "shop", "db-1"); !errors.Is(err, ErrForeign) {
		t.Errorf("a foreign volume: %v, want ErrForeign", err)
	}
	if err := c.DeleteHelper(t.Context(), "shop", "db-1"); !errors.Is(err, ErrForeign) {
		t.Errorf("a member as helper: %v, want ErrForeign", err)
	}
}

func TestDeleteClusterObjectsKeepsVolumesAndRecords(t *testing.T) {
	other := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "theirs"}}
	c, api := newFake(t, interceptor.Funcs{}, other)
	cluster := testCluster()
	if err := c.EnsureCertificates(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		c.ApplyServices(t.Context(), cluster, []corev1.ServicePort{{Name: "client", Port: 2379}}), c.ApplyBudget(t.Context(), cluster, 2),
		c.ApplyVolume(t.Context(), cluster, "db-1"), NewConfigMapStore(c).CreateOperation(t.Context(), testOperation("Running", 0)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := c.DeleteClusterObjects(t.Context(), cluster); err != nil {
			t.Fatal(err)
		}
	}
	left := map[string]int{}
	for kind, l := range map[string]client.ObjectList{"secrets": &corev1.SecretList{}, "services": &corev1.ServiceList{}, "claims": &corev1.PersistentVolumeClaimList{}, "records": &corev1.ConfigMapList{}} {
		if err := api.List(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		switch l := l.(type) {
		case *corev1.SecretList:
			left[kind] = len(l.Items)
		case *corev1.ServiceList:
			left[kind] = len(l.Items)
		case *corev1.PersistentVolumeClaimList:
			left[kind] = len(l.Items)
		case *corev1.ConfigMapList:
			left[kind] = len(l.Items)
		}
	}
	if diff := cmp.Diff(map[string]int{"secrets": 1, "services": 0, "claims": 1, "records": 1}, left); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}
