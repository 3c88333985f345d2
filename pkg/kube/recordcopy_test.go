package kube_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
)

// TestKeptWritesTheRecordAgain: what every change of the record says can be
// read from the volume claims once the record is gone.
func TestKeptWritesTheRecordAgain(t *testing.T) {
	c, _ := kubetest.New(t, interceptor.Funcs{})
	records, cluster := store.NewConfigMaps(c), kubetest.Cluster()
	cluster.UID, cluster.Annotations = "", map[string]string{kube.AnnotationProcess: "p", "note": "mine"}
	cluster.Status.Bootstrap.ClusterID = ""
	if err := records.CreateCluster(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	if err := workload.ApplyVolume(t.Context(), c, cluster, "db-1"); err != nil {
		t.Fatal(err)
	}
	cluster.Status.Bootstrap.ClusterID, cluster.Spec.Members = "cid", 5
	if err := records.UpdateCluster(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	if err := records.DeleteCluster(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	k, err := store.FindKept(t.Context(), c, "shop", "db")
	if err != nil || k.Record == nil || k.Lost() {
		t.Fatalf("%+v, %v", k, err)
	}
	if diff := cmp.Diff(cluster.Spec, k.Record.Spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(cluster.Status, k.Record.Status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{kube.AnnotationProcess: "p"}, k.Record.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if err := records.CreateCluster(t.Context(), k.Record); err != nil || k.Record.Generation != 2 {
		t.Errorf("generation %d, %v", k.Record.Generation, err)
	}
}

// TestKeptOfSeveralClusters: nobody guesses whose volumes they are, unless
// the members of one of them still have StatefulSets.
func TestKeptOfSeveralClusters(t *testing.T) {
	c, _ := kubetest.New(t, interceptor.Funcs{})
	earlier, now := kubetest.Cluster(), kubetest.Cluster()
	earlier.Status.ID, earlier.Generation = "earlier", 9
	for member, of := range map[string]string{"db-1": "now", "db-2": "earlier"} {
		cluster := now
		if of == "earlier" {
			cluster = earlier
		}
		if err := workload.ApplyVolume(t.Context(), c, cluster, member); err != nil {
			t.Fatal(err)
		}
	}
	if k, err := store.FindKept(t.Context(), c, "shop", "db"); err != nil || k.Record != nil || k.Problem == "" {
		t.Errorf("%+v, %v", k, err)
	}
	in := wholeInput()
	in.Cluster = now
	if _, err := workload.Apply(t.Context(), c, in); err != nil {
		t.Fatal(err)
	}
	k, err := store.FindKept(t.Context(), c, "shop", "db")
	if err != nil || k.Record == nil || k.Record.Status.ID != now.Status.ID || !k.Lost() {
		t.Errorf("%+v, %v", k, err)
	}
}

// TestKeptIsClear: a record is beyond doubt only where no object and no copy says
// otherwise.
func TestKeptIsClear(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		change func(*corev1.PersistentVolumeClaim)
		clear  bool
	}{
		"all agree": {func(*corev1.PersistentVolumeClaim) {}, true},
		"an older copy of an earlier formation": {func(v *corev1.PersistentVolumeClaim) {
			v.Annotations[kube.AnnotationRecord] = strings.ReplaceAll(strings.Replace(v.Annotations[kube.AnnotationRecord],
				`"members":3`, `"members":1`, 1), "token-1", "token-0")
		}, true},
		"another copy": {func(v *corev1.PersistentVolumeClaim) {
			v.Annotations[kube.AnnotationRecord] = strings.Replace(v.Annotations[kube.AnnotationRecord], `"members":3`,
				`"members":1`, 1)
		}, false},
		"no copy": {func(v *corev1.PersistentVolumeClaim) { delete(v.Annotations, kube.AnnotationRecord) }, false},
		"half a copy": {func(v *corev1.PersistentVolumeClaim) { v.Annotations[kube.AnnotationRecord] = `{"spec":{` },
			false},
		"of no cluster": {func(v *corev1.PersistentVolumeClaim) { delete(v.Annotations, kube.AnnotationClusterID) },
			false},
		"of another cluster": {func(v *corev1.PersistentVolumeClaim) { v.Annotations[kube.AnnotationClusterID] = "c0" },
			false},
		"a copy of another": {func(v *corev1.PersistentVolumeClaim) {
			v.Annotations[kube.AnnotationRecord] = strings.Replace(v.Annotations[kube.AnnotationRecord], `"c1"`, `"c0"`, 1)
		}, false},
		"no claim of members": {func(v *corev1.PersistentVolumeClaim) { v.Labels[v1alpha1.LabelMember] = "helper" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, api := kubetest.New(t, interceptor.Funcs{})
			cluster := kubetest.Cluster()
			cluster.Generation = 2
			for _, member := range []string{"db-1", "db-2"} {
				if err := workload.ApplyVolume(t.Context(), c, cluster, member); err != nil {
					t.Fatal(err)
				}
			}
			in := wholeInput()
			in.Cluster = cluster
			if _, err := workload.Apply(t.Context(), c, in); err != nil {
				t.Fatal(err)
			}
			v := &corev1.PersistentVolumeClaim{}
			if err := api.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "db-2"}, v); err != nil {
				t.Fatal(err)
			}
			row.change(v)
			if err := api.Update(t.Context(), v); err != nil {
				t.Fatal(err)
			}
			k, err := store.FindKept(t.Context(), c, "shop", "db")
			if err != nil || k.Clear != row.clear {
				t.Errorf("%+v, %v", k, err)
			}
		})
	}
}
