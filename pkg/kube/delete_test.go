package kube_test

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
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/helperpod"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
)

func TestDeletePodSparesTheSuccessor(t *testing.T) {
	var seen string
	c, _ := kubetest.New(t, interceptor.Funcs{Delete: func(_ context.Context, _ client.WithWatch, obj client.Object,
		opts ...client.DeleteOption) error {
		o := client.DeleteOptions{}
		o.ApplyOptions(opts)
		seen = string(*o.Preconditions.UID)
		return apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, obj.GetName(),
			errors.New("the UID in the precondition does not match"))
	}})
	if err := workload.DeletePod(t.Context(), c, "shop", "db-1-0", "old"); err != nil {
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
	c, _ := kubetest.New(t, interceptor.Funcs{},
		&corev1.PersistentVolumeClaim{ObjectMeta: meta(kube.MemberLabels(kubetest.Cluster(), "db-1"))})
	for range 2 {
		if err := workload.DeleteVolume(t.Context(), c, "shop", "db-1", ""); err != nil {
			t.Errorf("delete: %v", err)
		}
	}
	for _, err := range []error{
		workload.Delete(t.Context(), c, "shop", "db-1", ""), pki.DeleteMemberCertificate(t.Context(), c, "shop", "db-1"),
		workload.DeletePod(t.Context(), c, "shop", "db-1-0", "x"), helperpod.Delete(t.Context(), c, "shop", "x"),
	} {
		if err != nil {
			t.Errorf("delete of what is not there: %v", err)
		}
	}
	c, _ = kubetest.New(t, interceptor.Funcs{}, &corev1.PersistentVolumeClaim{ObjectMeta: meta(nil)},
		&corev1.Pod{ObjectMeta: meta(kube.MemberLabels(kubetest.Cluster(), "db-1"))})
	if err := workload.DeleteVolume(t.Context(), c, "shop", "db-1", ""); !errors.Is(err, kube.ErrForeign) {
		t.Errorf("a foreign volume: %v, want ErrForeign", err)
	}
	if err := helperpod.Delete(t.Context(), c, "shop", "db-1"); !errors.Is(err, kube.ErrForeign) {
		t.Errorf("a member as helper: %v, want ErrForeign", err)
	}
}

// everything makes each kind of object that a cluster can have.
func everything(t *testing.T, c *kube.Client, cluster *v1alpha1.DatabaseCluster) {
	t.Helper()
	policy := v1alpha1.BackupPolicy{Repository: "pvc:backups/etcd", Schedule: "0 2 * * *",
		Retention: v1alpha1.Retention{Keep: 7}}
	cluster.Spec.Backup = policy
	in, schedule := wholeInput(), workload.ScheduleInput{Cluster: cluster, Policy: policy, Claim: "backups",
		SubPath: "etcd", Image: "example.com/dbop:v1", Since: kubetest.Noon()}
	in.Cluster = cluster
	_, err := workload.Apply(t.Context(), c, in)
	for _, err := range []error{
		err, pki.EnsureCertificates(t.Context(), c, cluster), pki.EnsureMemberCertificate(t.Context(), c, cluster, "db-1"),
		workload.ApplyBudget(t.Context(), c, cluster, 2),
		workload.ApplyServices(t.Context(), c, cluster, []corev1.ServicePort{{Name: "client", Port: 2379}}),
		workload.ApplySchedule(t.Context(), c, schedule, false),
		workload.ApplyVolume(t.Context(), c, cluster, "db-1"),
		helperpod.Create(t.Context(), c, helperpod.Spec{Name: "verify-1-0", Namespace: cluster.Namespace, Cluster: cluster,
			Purpose: helperpod.PurposeVerify, Image: "x"}),
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
		corev1.SchemeGroupVersion.WithKind("Secret"), corev1.SchemeGroupVersion.WithKind("Service"),
		corev1.SchemeGroupVersion.WithKind("Pod"),
		corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"), corev1.SchemeGroupVersion.WithKind("ConfigMap"),
		corev1.SchemeGroupVersion.WithKind("ServiceAccount"), appsv1.SchemeGroupVersion.WithKind("StatefulSet"),
		policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"), batchv1.SchemeGroupVersion.WithKind("CronJob"),
		rbacv1.SchemeGroupVersion.WithKind("Role"), rbacv1.SchemeGroupVersion.WithKind("RoleBinding"),
		kube.CertificateRequestKind(),
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
	c, api := kubetest.New(t, interceptor.Funcs{})
	everything(t, c, kubetest.Cluster())
	if made := objects(t, api); len(made) < 14 {
		t.Errorf("only %v were found", made)
	}
}

func TestDeleteClusterObjectsKeepsVolumesAndRecords(t *testing.T) {
	other := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "theirs"}}
	c, api := kubetest.New(t, interceptor.Funcs{}, other)
	cluster := kubetest.Cluster()
	everything(t, c, cluster)
	if err := store.NewConfigMaps(c).CreateOperation(t.Context(), &v1alpha1.Operation{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop"}, Spec: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbScale}}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := workload.DeleteClusterObjects(t.Context(), c, cluster); err != nil {
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
	cluster, denied := kubetest.Cluster(), func(o client.Object) error {
		switch o.GetObjectKind().GroupVersionKind().Kind {
		case "CronJob", "Role", "RoleBinding", "ServiceAccount":
			return apierrors.NewForbidden(schema.GroupResource{Resource: "roles"}, o.GetName(), errors.New("no such right"))
		}
		return nil
	}
	c, _ := kubetest.New(t, interceptor.Funcs{Get: func(ctx context.Context, api client.WithWatch, key client.ObjectKey,
		o client.Object, opts ...client.GetOption) error {
		return cmp.Or(denied(o), api.Get(ctx, key, o, opts...))
	}})
	if err := workload.DeleteClusterObjects(t.Context(), c, cluster); err != nil {
		t.Errorf("a cluster without a schedule: %v", err)
	}
	cluster.Spec.Backup.Schedule = "0 2 * * *"
	if _, ok := errors.AsType[*kube.ForbiddenError](workload.DeleteClusterObjects(t.Context(), c, cluster)); !ok {
		t.Error("the schedule may not be deleted, and nobody says so")
	}
}

func TestDeleteLeftoversSparesThisCluster(t *testing.T) {
	c, api := kubetest.New(t, interceptor.Funcs{})
	earlier, now := kubetest.Cluster(), kubetest.Cluster()
	earlier.Status.ID = "earlier"
	everything(t, c, earlier)
	own := &corev1.Secret{ObjectMeta: kube.ObjectMeta(now, "db-new", kube.ObjectLabels(now, kube.ComponentDatabase))}
	if err := api.Create(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	now.Status.Bootstrap.ClusterID = ""
	f, err := observe.Read(t.Context(), c, now, observe.Rendered{})
	if err != nil || len(f.Leftovers) != 8 {
		t.Errorf("remains %v, %v", f.Leftovers, err)
	}
	if err := workload.ApplyBudget(t.Context(), c, now, 2); !errors.Is(err, kube.ErrForeign) {
		t.Errorf("what an earlier cluster left was taken over: %v", err)
	}
	for range 2 {
		if err := workload.DeleteLeftovers(t.Context(), c, now); err != nil {
			t.Fatal(err)
		}
	}
	if diff := gocmp.Diff([]string{"PersistentVolumeClaim/db-1", "Secret/db-new"}, objects(t, api)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}
