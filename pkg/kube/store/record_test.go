package store

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
)

// TestOneDamagedRecordHidesNoOther lists a record that is no JSON among good ones.
func TestOneDamagedRecordHidesNoOther(t *testing.T) {
	c, _ := kubetest.New(t, interceptor.Funcs{}, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop",
		Name:   "bad.dbop",
		Labels: map[string]string{v1alpha1.LabelKind: kindCluster, v1alpha1.LabelCluster: "bad"}},
		Data: map[string]string{keyCluster: "{"}})
	store := NewConfigMaps(c)
	good := kubetest.Cluster()
	good.ResourceVersion, good.UID = "", ""
	if err := store.CreateCluster(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	all, err := store.ListClusters(t.Context(), "", "")
	if !errors.Is(err, ErrDamaged) || kube.Hint(err) != "write the record again from what is there: kubectl dbop repair "+
		"bad -n shop" || len(all) != 1 || all[0].Name != "db" {
		t.Errorf("%d clusters, %v", len(all), err)
	}
}

// TestRecordsStayBelowTheLimit writes a record whose texts are as long as can be.
func TestRecordsStayBelowTheLimit(t *testing.T) {
	long := strings.Repeat("ü", 1<<20)
	o := &v1alpha1.Operation{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db.dbop-op-1"}}
	o.Spec.Command, o.Status.Message, o.Status.Facts = long, long, map[string]string{"backup": "id"}
	for range 3 * maxJournal {
		o.Status.Journal = append(o.Status.Journal, v1alpha1.JournalEntry{Step: "a", Title: long, Error: long})
	}
	m, err := encodeOperation(o)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := json.Marshal(m)
	if err != nil || len(whole) > 1<<19 {
		t.Errorf("%d bytes, %v", len(whole), err)
	}
	back, err := decodeOperation(m)
	if err != nil || len(back.Status.Journal) != maxJournal || back.Status.Facts["backup"] != "id" ||
		!strings.HasSuffix(back.Status.Message, "ü...") {
		t.Errorf("%v, %d entries, %q", err, len(back.Status.Journal), back.Status.Facts["backup"])
	}
	if len(o.Status.Journal) != 3*maxJournal || o.Status.Message != long || o.Status.Journal[0].Error != long {
		t.Error("the record in memory was changed")
	}
}
