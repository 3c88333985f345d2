package kube

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

var inShop = client.ObjectKey{Namespace: "shop", Name: "db-2"}

func TestApplyWorkload(t *testing.T) {
	c, api := newFake(t, interceptor.Funcs{})
	in := testWorkloadInput()
	if _, err := c.ApplyWorkload(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	in.Version, in.Pod.Container.Image = "3.6.17", "example.com/etcd:v3.6.17"
	applied, err := c.ApplyWorkload(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if !applied.Observed {
		t.Error("the fake has no generations: all is observed")
	}
	got := &appsv1.StatefulSet{}
	if err := api.Get(t.Context(), inShop, got); err != nil {
		t.Fatal(err)
	}
	want := Workload{Exists: true, Bootstrap: true, Image: "example.com/etcd:v3.6.17", Version: "3.6.17", Token: "token-1", Renderer: "v1.2.3"}
	if diff := cmp.Diff(want, workloadFacts(got)); diff != "" {
		t.Errorf("workload (-want +got):\n%s", diff)
	}
}

func TestApplyLeavesForeignObjectsAlone(t *testing.T) {
	c, _ := newFake(t, interceptor.Funcs{},
		&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db-2"}},
		&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db-2", Labels: map[string]string{"dbop.dev/cluster": "other"}}})
	if _, err := c.ApplyWorkload(t.Context(), testWorkloadInput()); !errors.Is(err, ErrForeign) {
		t.Errorf("workload: %v, want ErrForeign", err)
	}
	if err := c.ApplyVolume(t.Context(), testCluster(), "db-2"); !errors.Is(err, ErrForeign) {
		t.Errorf("volume: %v, want ErrForeign", err)
	}
}

func TestApplyBudgetZeroRemovesIt(t *testing.T) {
	c, api := newFake(t, interceptor.Funcs{})
	for _, n := range []int32{2, 3, 0, 0} {
		if err := c.ApplyBudget(t.Context(), testCluster(), n); err != nil {
			t.Fatalf("%d: %v", n, err)
		}
		l := &policyv1.PodDisruptionBudgetList{}
		if err := api.List(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		got := int32(0)
		for i := range l.Items {
			got = int32(l.Items[i].Spec.MinAvailable.IntValue())
		}
		if got != n {
			t.Errorf("minAvailable %d, want %d", got, n)
		}
	}
}

func TestApplyServicesIsIdempotent(t *testing.T) {
	c, api := newFake(t, interceptor.Funcs{})
	for range 2 {
		if err := c.ApplyServices(t.Context(), testCluster(), []corev1.ServicePort{{Name: "client", Port: 2379}, {Name: "peer", Port: 2380}}); err != nil {
			t.Fatal(err)
		}
	}
	l := &corev1.ServiceList{}
	if err := api.List(t.Context(), l); err != nil || len(l.Items) != 2 {
		t.Errorf("%d services, %v; want 2", len(l.Items), err)
	}
}

func TestSealWorkload(t *testing.T) {
	c, api := newFake(t, interceptor.Funcs{})
	if _, err := c.ApplyWorkload(t.Context(), testWorkloadInput()); err != nil {
		t.Fatal(err)
	}
	calls := 0
	seal := func(p corev1.PodTemplateSpec) corev1.PodTemplateSpec {
		calls++
		p.Spec.Containers[0].Args = append(p.Spec.Containers[0].Args, "--sealed")
		return p
	}
	for range 2 {
		if err := c.SealWorkload(t.Context(), "shop", "db-2", seal); err != nil {
			t.Fatal(err)
		}
	}
	got := &appsv1.StatefulSet{}
	if err := api.Get(t.Context(), inShop, got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"--name=db-2", "--sealed"}, got.Spec.Template.Spec.Containers[0].Args); diff != "" {
		t.Errorf("args (-want +got):\n%s", diff)
	}
	if workloadFacts(got).Bootstrap || calls != 1 {
		t.Errorf("bootstrap %v, sealed %d times; want once", workloadFacts(got).Bootstrap, calls)
	}
	if err := c.SealWorkload(t.Context(), "shop", "db-9", seal); !errors.Is(err, ErrNotFound) {
		t.Errorf("no workload: %v, want ErrNotFound", err)
	}
}
