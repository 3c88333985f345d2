package kube

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
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
