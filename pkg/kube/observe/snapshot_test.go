package observe

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
)

func secretMeta(name, id string) metav1.PartialObjectMetadata {
	c := kubetest.Cluster()
	c.Status.ID = id
	return metav1.PartialObjectMetadata{ObjectMeta: kube.ObjectMeta(c, name,
		kube.ObjectLabels(c, kube.ComponentDatabase))}
}

func TestSnapshotCertificates(t *testing.T) {
	formed, c := kubetest.Cluster(), kubetest.Cluster()
	c.Status.Bootstrap.ClusterID = ""
	const ours, earlier = "c1", "earlier"
	plain := kubetest.Cluster()
	plain.Spec.TLS.Disabled, plain.Status.Bootstrap = true, nil
	all := []metav1.PartialObjectMetadata{secretMeta("db-ca", ours), secretMeta("db-admin-tls", ours),
		secretMeta("db-client-tls", ours)}
	tests := []struct {
		name    string
		cluster *v1alpha1.DatabaseCluster
		secrets []metav1.PartialObjectMetadata
		want    bool
	}{
		{"all", c, all, true},
		{"one is missing", c, all[:2], false},
		{"none are wanted", plain, nil, true},
		{"not asked for once it has formed", formed, nil, true},
		{"one lost its annotation", c, append(all[:2:2], secretMeta("db-client-tls", "")), true},
		{"one is of an earlier cluster of that name", c, append(all[:2:2], secretMeta("db-client-tls", earlier)), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := snapshot{secrets: metav1.PartialObjectMetadataList{Items: tt.secrets}}
			if got := s.facts(tt.cluster, kubetest.Noon()).Certificates; got != tt.want {
				t.Errorf("certificates %v, want %v", got, tt.want)
			}
		})
	}
}

func TestSnapshotMembersAreSortedByNumber(t *testing.T) {
	s := snapshot{}
	for _, name := range []string{"db-10", "db-2", "db-1"} {
		in := memberInput()
		in.Member = name
		s.workloads.Items = append(s.workloads.Items, *workload.Build(in))
	}
	helper := testPod(func(p *corev1.Pod) {
		p.Name, p.Labels = "db-3-load", kube.ObjectLabels(kubetest.Cluster(), kube.ComponentHelper)
		p.Labels[v1alpha1.LabelPurpose] = "load"
	})
	s.pods.Items = []corev1.Pod{*helper}
	f := s.facts(kubetest.Cluster(), kubetest.Noon())
	var got []string
	for _, m := range f.Members {
		got = append(got, m.Name)
	}
	if diff := cmp.Diff([]string{"db-1", "db-2", "db-10"}, got); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	if len(f.Helpers) != 1 || f.Helpers[0].Name != "db-3-load" {
		t.Errorf("helpers %+v", f.Helpers)
	}
}

func TestSnapshotServicesAndBudget(t *testing.T) {
	made := workload.BuildServices(kubetest.Cluster(), []corev1.ServicePort{{Name: "client", Port: 2379}})
	headless, clients := made[0], made[1]
	s := snapshot{services: corev1.ServiceList{Items: []corev1.Service{*headless}}}
	if f := s.facts(kubetest.Cluster(), kubetest.Noon()); f.Services || f.Budget != nil {
		t.Errorf("half of it: services %v, budget %v", f.Services, f.Budget)
	}
	s.services.Items = append(s.services.Items, *clients)
	s.budgets.Items = append(s.budgets.Items, *workload.BuildBudget(kubetest.Cluster(), 2))
	if f := s.facts(kubetest.Cluster(), kubetest.Noon()); !f.Services || f.Budget == nil || *f.Budget != 2 {
		t.Errorf("all of it: services %v, budget %v", f.Services, f.Budget)
	}
}

func TestSnapshotBlamesTheVolumeIfTheSchedulerDoes(t *testing.T) {
	s := snapshot{
		pods: corev1.PodList{
			Items: []corev1.Pod{*testPod(unscheduled("pod has unbound immediate PersistentVolumeClaims"))}},
		claims: corev1.PersistentVolumeClaimList{Items: []corev1.PersistentVolumeClaim{
			*workload.BuildVolume(kubetest.Cluster(), "db-1")}},
	}
	m := s.facts(kubetest.Cluster(), kubetest.Noon()).Member("db-1")
	if m.Volume.Problem == nil || m.Volume.Problem.Kind != ProblemVolume {
		t.Errorf("volume problem %+v", m.Volume.Problem)
	}
}

func TestSnapshotOverdue(t *testing.T) {
	w, v := workload.Build(memberInput()), workload.BuildVolume(kubetest.Cluster(), "db-2")
	w.CreationTimestamp, v.CreationTimestamp = ago(eventsAfter/2), ago(eventsAfter/2)
	s := snapshot{workloads: appsv1.StatefulSetList{Items: []appsv1.StatefulSet{*w}},
		claims: corev1.PersistentVolumeClaimList{Items: []corev1.PersistentVolumeClaim{*v}}}
	if got := s.overdue(s.facts(kubetest.Cluster(), kubetest.Noon()), kubetest.Noon()); len(got) != 0 {
		t.Errorf("too early: %v", got)
	}
	later := kubetest.Noon().Add(eventsAfter)
	if diff := cmp.Diff([]string{"db-2"}, s.overdue(s.facts(kubetest.Cluster(), later), later)); diff != "" {
		t.Errorf("overdue (-want +got):\n%s", diff)
	}
}

// memberInput is what the tests' member db-2 is rendered from.
func memberInput() workload.Input {
	return workload.Input{Cluster: kubetest.Cluster(), Member: "db-2", Version: "3.6.16", Bootstrap: true,
		Renderer: "v1.2.3", Pod: kubetest.EnginePod()}
}
