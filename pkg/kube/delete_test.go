package kube

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
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
		if err := c.DeleteVolume(t.Context(), "shop", "db-1", ""); err != nil {
			t.Errorf("delete: %v", err)
		}
	}
	for _, err := range []error{
		c.DeleteWorkload(t.Context(), "shop", "db-1", ""), c.DeleteMemberCertificate(t.Context(), "shop", "db-1"),
		c.DeletePod(t.Context(), "shop", "db-1-0", "x"), c.DeleteHelper(t.Context(), "shop", "x"),
	} {
		if err != nil {
			t.Errorf("delete of what is not there: %v", err)
		}
	}
	c, _ = newFake(t, interceptor.Funcs{}, &corev1.PersistentVolumeClaim{ObjectMeta: meta(nil)}, &corev1.Pod{ObjectMeta: meta(memberLabels(testCluster(), "db-1"))})
	if err := c.DeleteVolume(t.Context(), "shop", "db-1", ""); !errors.Is(err, ErrForeign) {
		t.Errorf("a foreign volume: %v, want ErrForeign", err)
	}
	if err := c.DeleteHelper(t.Context(), "shop", "db-1"); !errors.Is(err, ErrForeign) {
		t.Errorf("a member as helper: %v, want ErrForeign", err)
	}
}

// everything makes each kind of object that a cluster can have.
func everything(t *testing.T, c *Client, cluster *v1alpha1.DatabaseCluster) {
	t.Helper()
	in, schedule := testWorkloadInput(), scheduleInput(cluster)
	in.Cluster = cluster
	_, err := c.ApplyWorkload(t.Context(), in)
	for _, err := range []error{
		err, c.EnsureCertificates(t.Context(), cluster), c.EnsureMemberCertificate(t.Context(), cluster, "db-1"), c.ApplyBudget(t.Context(), cluster, 2),
		c.ApplyServices(t.Context(), cluster, []corev1.ServicePort{{Name: "client", Port: 2379}}), c.ApplySchedule(t.Context(), schedule, false),
		c.ApplyVolume(t.Context(), cluster, "db-1"),
		c.CreateHelper(t.Context(), HelperSpec{Name: "verify-1-0", Namespace: cluster.Namespace, Cluster: cluster, Purpose: PurposeVerify, Image: "x"}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// objects lists everything there is, as kind/name.
func objects(t *testing.T, api client.Client) []string {
	t.Helper()
	var out []string
	for _, kind := range []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("Secret"), corev1.SchemeGroupVersion.WithKind("Service"), corev1.SchemeGroupVersion.WithKind("Pod"),
		corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"), corev1.SchemeGroupVersion.WithKind("ConfigMap"),
		corev1.SchemeGroupVersion.WithKind("ServiceAccount"), appsv1.SchemeGroupVersion.WithKind("StatefulSet"),
		policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"), batchv1.SchemeGroupVersion.WithKind("CronJob"),
		rbacv1.SchemeGroupVersion.WithKind("Role"), rbacv1.SchemeGroupVersion.WithKind("RoleBinding"), certificateRequestKind(),
	} {
		l := &unstructured.UnstructuredList{}
		l.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := api.List(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		for _, o := range l.Items {
			if len(o.GetOwnerReferences()) > 0 {
				t.Errorf("%s %s is owned by %v", kind.Kind, o.GetName(), o.GetOwnerReferences())
			}
			out = append(out, kind.Kind+"/"+o.GetName())
		}
	}
	slices.Sort(out)
	return out
}

// TestNothingIsOwned: the loss of one object, of the record above all, must
// delete no other.
func TestNothingIsOwned(t *testing.T) {
	c, api := newFake(t, interceptor.Funcs{})
	everything(t, c, testCluster())
	if made := objects(t, api); len(made) < 14 {
		t.Errorf("only %v were looked at", made)
	}
}

func TestDeleteClusterObjectsKeepsVolumesAndRecords(t *testing.T) {
	other := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "theirs"}}
	c, api := newFake(t, interceptor.Funcs{}, other)
	cluster := testCluster()
	everything(t, c, cluster)
	if err := NewConfigMapStore(c).CreateOperation(t.Context(), testOperation("Running", 0)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.DeleteClusterObjects(t.Context(), cluster); err != nil {
			t.Fatal(err)
		}
	}
	left := slices.DeleteFunc(objects(t, api), func(o string) bool { return strings.HasPrefix(o, "ConfigMap/") })
	if diff := gocmp.Diff([]string{"PersistentVolumeClaim/db-1", "Secret/theirs"}, left); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

// TestDeleteClusterObjectsWithFewRights: a cluster without a schedule is
// deleted without any right on the kinds of one.
func TestDeleteClusterObjectsWithFewRights(t *testing.T) {
	cluster, denied := testCluster(), func(o client.Object) error {
		switch o.GetObjectKind().GroupVersionKind().Kind {
		case "CronJob", "Role", "RoleBinding", "ServiceAccount":
			return apierrors.NewForbidden(schema.GroupResource{Resource: "roles"}, o.GetName(), errors.New("no such right"))
		}
		return nil
	}
	c, _ := newFake(t, interceptor.Funcs{Get: func(ctx context.Context, api client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
		return cmp.Or(denied(o), api.Get(ctx, key, o, opts...))
	}})
	if err := c.DeleteClusterObjects(t.Context(), cluster); err != nil {
		t.Errorf("a cluster without a schedule: %v", err)
	}
	cluster.Spec.Backup.Schedule = "0 2 * * *"
	if _, ok := errors.AsType[*ForbiddenError](c.DeleteClusterObjects(t.Context(), cluster)); !ok {
		t.Error("the schedule may not be deleted, and nobody says so")
	}
}

func TestDeleteRemainsSparesThisCluster(t *testing.T) {
	c, api := newFake(t, interceptor.Funcs{})
	earlier, now := testCluster(), testCluster()
	earlier.Status.ID = "earlier"
	everything(t, c, earlier)
	own := &corev1.Secret{ObjectMeta: metaOf(now, "db-new", objectLabels(now, componentDatabase))}
	if err := api.Create(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	now.Status.Formation.ClusterID = ""
	f, err := c.Facts(t.Context(), now, Rendered{})
	if err != nil || len(f.Remains) != 8 {
		t.Errorf("remains %v, %v", f.Remains, err)
	}
	if err := c.ApplyBudget(t.Context(), now, 2); !errors.Is(err, ErrForeign) {
		t.Errorf("what an earlier cluster left was taken over: %v", err)
	}
	for range 2 {
		if err := c.DeleteRemains(t.Context(), now); err != nil {
			t.Fatal(err)
		}
	}
	if diff := gocmp.Diff([]string{"PersistentVolumeClaim/db-1", "Secret/db-new"}, objects(t, api)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}
