package kube

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// TestKeptWritesTheRecordAgain: what every change of the record says can be
// read from the volume claims once the record is gone.
func TestKeptWritesTheRecordAgain(t *testing.T) {
	c, _ := newFake(t, interceptor.Funcs{})
	store, cluster := NewConfigMapStore(c), testCluster()
	cluster.UID, cluster.Annotations = "", map[string]string{AnnotationProcess: "p", "note": "mine"}
	cluster.Status.Formation.ClusterID = ""
	if err := store.CreateCluster(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	if err := c.ApplyVolume(t.Context(), cluster, "db-1"); err != nil {
		t.Fatal(err)
	}
	cluster.Status.Formation.ClusterID, cluster.Spec.Members = "cid", 5
	if err := store.UpdateCluster(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	if err := store.DeleteCluster(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	k, err := c.Kept(t.Context(), "shop", "db")
	if err != nil || k.Record == nil || k.Lost() {
		t.Fatalf("%+v, %v", k, err)
	}
	if diff := cmp.Diff(cluster.Spec, k.Record.Spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(cluster.Status, k.Record.Status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{AnnotationProcess: "p"}, k.Record.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if err := store.CreateCluster(t.Context(), k.Record); err != nil || k.Record.Generation != 2 {
		t.Errorf("generation %d, %v", k.Record.Generation, err)
	}
}

// TestKeptOfSeveralClusters: nobody guesses whose volumes they are, unless
// the members of one of them still have StatefulSets.
func TestKeptOfSeveralClusters(t *testing.T) {
	c, _ := newFake(t, interceptor.Funcs{})
	earlier, now := testCluster(), testCluster()
	earlier.Status.ID, earlier.Generation = "earlier", 9
	for member, of := range map[string]string{"db-1": "now", "db-2": "earlier"} {
		cluster := now
		if of == "earlier" {
			cluster = earlier
		}
		if err := c.ApplyVolume(t.Context(), cluster, member); err != nil {
			t.Fatal(err)
		}
	}
	if k, err := c.Kept(t.Context(), "shop", "db"); err != nil || k.Record != nil || k.Problem == "" {
		t.Errorf("%+v, %v", k, err)
	}
	in := testWorkloadInput()
	in.Cluster = now
	if _, err := c.ApplyWorkload(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	k, err := c.Kept(t.Context(), "shop", "db")
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
			v.Annotations[AnnotationRecord] = strings.ReplaceAll(strings.Replace(v.Annotations[AnnotationRecord], `"members":3`, `"members":1`, 1), "token-1", "token-0")
		}, true},
		"another copy": {func(v *corev1.PersistentVolumeClaim) {
			v.Annotations[AnnotationRecord] = strings.Replace(v.Annotations[AnnotationRecord], `"members":3`, `"members":1`, 1)
		}, false},
		"no copy":            {func(v *corev1.PersistentVolumeClaim) { delete(v.Annotations, AnnotationRecord) }, false},
		"half a copy":        {func(v *corev1.PersistentVolumeClaim) { v.Annotations[AnnotationRecord] = `{"spec":{` }, false},
		"of no cluster":      {func(v *corev1.PersistentVolumeClaim) { delete(v.Annotations, AnnotationClusterID) }, false},
		"of another cluster": {func(v *corev1.PersistentVolumeClaim) { v.Annotations[AnnotationClusterID] = "c0" }, false},
		"a copy of another": {func(v *corev1.PersistentVolumeClaim) {
			v.Annotations[AnnotationRecord] = strings.Replace(v.Annotations[AnnotationRecord], `"c1"`, `"c0"`, 1)
		}, false},
		"no claim of members": {func(v *corev1.PersistentVolumeClaim) { v.Labels[v1alpha1.LabelMember] = "helper" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, api := newFake(t, interceptor.Funcs{})
			cluster := testCluster()
			cluster.Generation = 2
			for _, member := range []string{"db-1", "db-2"} {
				if err := c.ApplyVolume(t.Context(), cluster, member); err != nil {
					t.Fatal(err)
				}
			}
			in := testWorkloadInput()
			in.Cluster = cluster
			if _, err := c.ApplyWorkload(t.Context(), in); err != nil {
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
			k, err := c.Kept(t.Context(), "shop", "db")
			if err != nil || k.Clear != row.clear {
				t.Errorf("%+v, %v", k, err)
			}
		})
	}
}
