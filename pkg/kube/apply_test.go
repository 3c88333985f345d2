package kube_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
)

// wholeInput is what the tests' member db-2 is rendered from.
func wholeInput() workload.Input {
	return workload.Input{Cluster: kubetest.Cluster(), Member: "db-2", Version: "3.6.16", Bootstrap: true,
		Renderer: "v1.2.3", Pod: kubetest.EnginePod()}
}

// observed is what is read of db-2.
func observed(t *testing.T, c *kube.Client) observe.Workload {
	t.Helper()
	f, err := observe.Read(t.Context(), c, kubetest.Cluster(), observe.Rendered{})
	if err != nil {
		t.Fatal(err)
	}
	return f.Member("db-2").Workload
}

var inShop = client.ObjectKey{Namespace: "shop", Name: "db-2"}

func TestApplyWorkload(t *testing.T) {
	c, _ := kubetest.New(t, interceptor.Funcs{})
	in := wholeInput()
	if _, err := workload.Apply(t.Context(), c, in); err != nil {
		t.Fatal(err)
	}
	in.Version, in.Pod.Container.Image = "3.6.17", "example.com/etcd:v3.6.17"
	applied, err := workload.Apply(t.Context(), c, in)
	if err != nil {
		t.Fatal(err)
	}
	if !applied.Observed {
		t.Error("the fake has no generations: all is observed")
	}
	want := observe.Workload{Exists: true, Bootstrap: true, Image: "example.com/etcd:v3.6.17", Version: "3.6.17",
		Token: "token-1", Renderer: "v1.2.3"}
	if diff := cmp.Diff(want, observed(t, c)); diff != "" {
		t.Errorf("workload (-want +got):\n%s", diff)
	}
}

// TestApplyWithoutAccount: a member that needs its account no more does not keep it. The API server does, as the fake
// here: it has a second field with the name, which nobody applies (DeprecatedServiceAccount).
func TestApplyWithoutAccount(t *testing.T) {
	account, kept, writes := []string{"spec", "template", "spec", "serviceAccountName"}, "", 0
	c, _ := kubetest.New(t, interceptor.Funcs{Apply: func(ctx context.Context, api client.WithWatch,
		obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
		if err := api.Apply(ctx, obj, opts...); err != nil {
			return err
		}
		writes++
		content := obj.(interface{ UnstructuredContent() map[string]any }).UnstructuredContent()
		if named, _, _ := unstructured.NestedString(content, account...); named != "" {
			kept = named
		}
		return unstructured.SetNestedField(content, kept, account...)
	}})
	in := wholeInput()
	for i, step := range []struct {
		account, want string
		writes        int
	}{{"", "", 1}, {"db-agents", "db-agents", 1}, {"", "default", 2}, {"", "default", 1}} {
		writes, in.Pod.Account = 0, step.account
		if _, err := workload.Apply(t.Context(), c, in); err != nil {
			t.Fatal(err)
		}
		if kept != step.want || writes != step.writes {
			t.Errorf("step %d: the account is %q after %d writes, want %q after %d", i, kept, writes, step.want, step.writes)
		}
	}
}

func TestApplyLeavesForeignObjectsAlone(t *testing.T) {
	c, _ := kubetest.New(t, interceptor.Funcs{},
		&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db-2"}},
		&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db-2",
			Labels: map[string]string{"dbop.dev/cluster": "other"}}})
	if _, err := workload.Apply(t.Context(), c, wholeInput()); !errors.Is(err, kube.ErrForeign) {
		t.Errorf("workload: %v, want ErrForeign", err)
	}
	if err := workload.ApplyVolume(t.Context(), c, kubetest.Cluster(), "db-2"); !errors.Is(err, kube.ErrForeign) {
		t.Errorf("volume: %v, want ErrForeign", err)
	}
}

func TestApplyBudgetZeroRemovesIt(t *testing.T) {
	c, api := kubetest.New(t, interceptor.Funcs{})
	for _, n := range []int32{2, 3, 0, 0} {
		if err := workload.ApplyBudget(t.Context(), c, kubetest.Cluster(), n); err != nil {
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
	c, api := kubetest.New(t, interceptor.Funcs{})
	for range 2 {
		if err := workload.ApplyServices(t.Context(), c, kubetest.Cluster(),
			[]corev1.ServicePort{{Name: "client", Port: 2379}, {Name: "peer", Port: 2380}}); err != nil {
			t.Fatal(err)
		}
	}
	l := &corev1.ServiceList{}
	if err := api.List(t.Context(), l); err != nil || len(l.Items) != 2 {
		t.Errorf("%d services, %v; want 2", len(l.Items), err)
	}
}

func TestDisableBootstrapOfAWorkload(t *testing.T) {
	c, api := kubetest.New(t, interceptor.Funcs{})
	if _, err := workload.Apply(t.Context(), c, wholeInput()); err != nil {
		t.Fatal(err)
	}
	calls := 0
	change := func(p corev1.PodTemplateSpec) corev1.PodTemplateSpec {
		calls++
		p.Spec.Containers[0].Args = append(p.Spec.Containers[0].Args, "--sealed")
		return p
	}
	for range 2 {
		if err := workload.DisableBootstrap(t.Context(), c, "shop", "db-2", change); err != nil {
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
	if bootstrap := observed(t, c).Bootstrap; bootstrap || calls != 1 {
		t.Errorf("bootstrap %v, sealed %d times; want once", bootstrap, calls)
	}
	if err := workload.DisableBootstrap(t.Context(), c, "shop", "db-9", change); !errors.Is(err, kube.ErrNotFound) {
		t.Errorf("no workload: %v, want ErrNotFound", err)
	}
}
