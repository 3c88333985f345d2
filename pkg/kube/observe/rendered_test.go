package observe

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
)

// renders is what the test's cluster is compared with.
func renders(whole bool) Rendered {
	return Rendered{Ports: []corev1.ServicePort{{Name: "client", Port: 2379}, {Name: "readonly", Port: 2379}},
		Workload: func(member string,
			_ *appsv1.StatefulSet) (*appsv1.StatefulSet, bool) {
			in := memberInput()
			in.Member = member
			return workload.Build(in), whole
		}}
}

// asMade is a snapshot of one member, as this tool makes it.
func asMade() *snapshot {
	made := workload.BuildServices(kubetest.Cluster(), renders(true).Ports)
	headless, readers, clients := made[0], made[1], made[2]
	in := memberInput()
	in.Member = "db-1"
	return &snapshot{
		services: corev1.ServiceList{Items: []corev1.Service{*headless, *clients, *readers}},
		budgets: policyv1.PodDisruptionBudgetList{Items: []policyv1.PodDisruptionBudget{
			*workload.BuildBudget(kubetest.Cluster(), 2)}},
		workloads: appsv1.StatefulSetList{Items: []appsv1.StatefulSet{*workload.Build(in)}},
		claims: corev1.PersistentVolumeClaimList{Items: []corev1.PersistentVolumeClaim{
			*workload.BuildVolume(kubetest.Cluster(), "db-1")}},
	}
}

// wrote is what the API server keeps of a write.
func wrote(manager, subresource, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: manager, Subresource: subresource,
		Time:     &metav1.Time{Time: kubetest.Noon()},
		FieldsV1: metav1.NewFieldsV1(fields)}
}

func TestDifferences(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*snapshot)
		older  bool
		want   []string
	}{
		"nothing": {change: func(*snapshot) {}},
		"a service is gone": {change: func(s *snapshot) { s.services.Items = s.services.Items[1:] },
			want: []string{"service/db Missing   "}},
		"the service of readers is gone": {change: func(s *snapshot) { s.services.Items = s.services.Items[:2] },
			want: []string{"service/db-readonly Missing   "}},
		"the service of readers selects others": {change: func(s *snapshot) {
			s.services.Items[2].Spec.Selector[kube.LabelComponent] = "x"
		}, want: []string{"service/db-readonly Edited spec.selector.app.kubernetes.io/component database x"}},
		"a budget is gone": {change: func(s *snapshot) { s.budgets.Items = nil },
			want: []string{"poddisruptionbudget/db Missing   "}},
		"a workload is gone": {change: func(s *snapshot) { s.workloads.Items = nil },
			want: []string{"statefulset/db-1 Missing   "}},
		"a selector was changed": {change: func(s *snapshot) { s.services.Items[1].Spec.Selector[kube.LabelComponent] = "x" },
			want: []string{"service/db-client Edited spec.selector.app.kubernetes.io/component database x"}},
		"a selector has one more": {change: func(s *snapshot) {
			o := &s.services.Items[1]
			o.Spec.Selector["role"] = "x"
			o.ManagedFields = []metav1.ManagedFieldsEntry{wrote("kubectl-edit", "",
				`{"f:spec":{"f:selector":{"f:role":{}}}}`)}
		}, want: []string{"service/db-client Added spec.selector.role  x by kubectl-edit"}},
		"a label was removed": {change: func(s *snapshot) { delete(s.services.Items[0].Labels, v1alpha1.LabelCluster) },
			want: []string{"service/db Edited metadata.labels.dbop.dev/cluster db "}},
		"an owner was added": {change: func(s *snapshot) {
			s.claims.Items[0].OwnerReferences = []metav1.OwnerReference{{Kind: "ConfigMap", Name: "x", UID: "u"}}
		}, want: []string{"persistentvolumeclaim/db-1 Owner metadata.ownerReferences  configmap/x"}},
		"finalizers": {change: func(s *snapshot) {
			s.claims.Items[0].Finalizers = []string{"kubernetes.io/pvc-protection", "example.com/keep",
				"snapshot.storage.kubernetes.io/pvc-as-source-protection"}
		}, want: []string{"persistentvolumeclaim/db-1 Finalizer metadata.finalizers  example.com/keep"}},
		"it is being deleted": {change: func(s *snapshot) {
			s.services.Items[0].DeletionTimestamp = &metav1.Time{
				Time: kubetest.Noon()}
		}, want: []string{"service/db Terminating   "}},
		"a volume that was grown": {change: func(s *snapshot) {
			s.claims.Items[0].Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("20Gi")
		}},
		"a size in other words": {change: func(s *snapshot) {
			s.claims.Items[0].Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("10240Mi")
		}},
		"a volume of another class": {change: func(s *snapshot) { s.claims.Items[0].Spec.StorageClassName = new("slow") },
			want: []string{"persistentvolumeclaim/db-1 Edited spec.storageClassName fast slow"}},
		"it was scaled": {change: func(s *snapshot) {
			o := &s.workloads.Items[0]
			o.Spec.Replicas = new(int32(2))
			o.ManagedFields = []metav1.ManagedFieldsEntry{wrote("kubectl", "scale", `{"f:spec":{"f:replicas":{}}}`)}
		}, want: []string{"statefulset/db-1 Edited spec.replicas 1 2 by kubectl"}},
		"an export was applied": {change: func(s *snapshot) {
			o := &s.workloads.Items[0]
			o.Spec.Template.Spec.DNSPolicy, o.Spec.Template.Spec.RestartPolicy = corev1.DNSClusterFirst,
				corev1.RestartPolicyNever
			o.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
				WhenDeleted: "Retain", WhenScaled: "Retain"}
			o.ManagedFields = []metav1.ManagedFieldsEntry{wrote("kubectl-client-side-apply", "",
				`{"f:spec":{"f:persistentVolumeClaimRetentionPolicy":{},"f:template":{"f:spec":{"f:dnsPolicy":{},"f:restartPolicy":{}}}}}`)}
		}, want: []string{"statefulset/db-1 Added spec.template.spec.restartPolicy  Never by kubectl-client-side-apply"}},
		"an image was changed": {change: func(s *snapshot) {
			o := &s.workloads.Items[0]
			o.Spec.Template.Spec.Containers[0].Image = "bad"
			o.ManagedFields = []metav1.ManagedFieldsEntry{wrote("kubectl-set", "",
				`{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"etcd\"}":{"f:image":{}}}}}}}`)}
		}, want: []string{"statefulset/db-1 Edited spec.template.spec.containers[etcd].image " +
			memberInput().Pod.Container.Image + " bad by kubectl-set"}},
		"an image of another version of this tool": {older: true,
			change: func(s *snapshot) { s.workloads.Items[0].Spec.Template.Spec.Containers[0].Image = "older" }},
		"an image was changed, of another version of this tool": {older: true, change: func(s *snapshot) {
			o := &s.workloads.Items[0]
			o.Spec.Template.Spec.Containers[0].Image = "bad"
			o.ManagedFields = []metav1.ManagedFieldsEntry{wrote("kubectl-set", "",
				`{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"etcd\"}":{"f:image":{}}}}}}}`)}
		}, want: []string{"statefulset/db-1 Edited spec.template.spec.containers[etcd].image  bad by kubectl-set"}},
		"what admission made of our own request": {change: func(s *snapshot) {
			o := &s.workloads.Items[0]
			o.Spec.Template.Spec.Containers[0].Image = "mirror/image"
			o.ManagedFields = []metav1.ManagedFieldsEntry{wrote(v1alpha1.FieldManager, "",
				`{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"etcd\"}":{".":{},"f:image":{}}}}}}}`)}
			o.Labels, o.Annotations = workload.Build(memberInput()).Labels, workload.Build(memberInput()).Annotations
			o.Labels[v1alpha1.LabelMember] = "db-1"
		}},
		"an environment was added": {change: func(s *snapshot) {
			o := &s.workloads.Items[0]
			o.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "b"}}
			o.ManagedFields = []metav1.ManagedFieldsEntry{wrote("kubectl-set", "",
				`{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"etcd\"}":{"f:env":{"k:{\"name\":\"A\"}":{".":{},"f:name":{},"f:value":{}}}}}}}}}`)}
		}, want: []string{"statefulset/db-1 Added spec.template.spec.containers[etcd].env  " +
			"[{\"name\":\"A\",\"value\":\"b\"}] by kubectl-set"}},
		"a restart by kubectl, which changes no database": {change: func(s *snapshot) {
			s.workloads.Items[0].ManagedFields = []metav1.ManagedFieldsEntry{wrote("kubectl-rollout", "",
				`{"f:spec":{"f:template":{"f:metadata":{"f:annotations":{"f:kubectl.kubernetes.io/restartedAt":{}}}}}}`)}
		}},
		"status, by its controller": {change: func(s *snapshot) {
			s.workloads.Items[0].ManagedFields = []metav1.ManagedFieldsEntry{wrote(drift.Controllers, "status",
				`{"f:status":{"f:replicas":{}}}`)}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := asMade()
			row.change(s)
			var got []string
			for _, d := range s.differences(kubetest.Cluster(), renders(!row.older)) {
				line := fmt.Sprintf("%s %s %s %s %s", d.Object, d.Kind, d.Field, d.Want, d.Have)
				if d.By != "" {
					line += " by " + d.By
					if !d.Since.Equal(kubetest.Noon()) {
						t.Errorf("since %s", d.Since)
					}
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
}
