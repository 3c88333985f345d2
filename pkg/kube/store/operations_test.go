package store

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
)

func testOperation(phase v1alpha1.Phase, minute int) *v1alpha1.Operation {
	at := metav1.NewTime(time.Date(2026, 11, 21, 10, minute, 0, 0, time.Local))
	return &v1alpha1.Operation{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", CreationTimestamp: at},
		Spec: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbScale,
			SizeParameters: v1alpha1.SizeParameters{Members: 5}},
		Status: v1alpha1.OperationStatus{Phase: phase, StartedAt: at, Facts: map[string]string{"backup": "b"}},
	}
}

func TestOperationRoundTrip(t *testing.T) {
	c, _ := kubetest.New(t, interceptor.Funcs{})
	s := NewConfigMaps(c)
	want := testOperation(v1alpha1.PhaseRunning, 0)
	if err := s.CreateOperation(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(want.Name, "db.dbop-op-") {
		t.Errorf("named %q", want.Name)
	}
	got, err := s.GetOperation(t.Context(), "shop", want.Name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("operation (-want +got):\n%s", diff)
	}
	stale := got.DeepCopy()
	got.Status.Phase = v1alpha1.PhaseSucceeded
	if err := s.UpdateOperation(t.Context(), got); err != nil {
		t.Fatal(err)
	}
	if err := s.UpdateOperation(t.Context(), stale); !errors.Is(err, kube.ErrConflict) {
		t.Errorf("stale update: %v, want ErrConflict", err)
	}
	stale.ResourceVersion = ""
	if err := s.UpdateOperation(t.Context(), stale); !errors.Is(err, kube.ErrConflict) {
		t.Errorf("update without having read: %v, want ErrConflict", err)
	}
}

func TestActiveOperations(t *testing.T) {
	c, _ := kubetest.New(t, interceptor.Funcs{})
	s := NewConfigMaps(c)
	for i, phase := range []v1alpha1.Phase{v1alpha1.PhaseSucceeded, v1alpha1.PhaseFailed, v1alpha1.PhaseCancelled} {
		if err := s.CreateOperation(t.Context(), testOperation(phase, i)); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := s.ActiveOperations(t.Context(), "shop", "db"); err != nil || len(got) > 0 {
		t.Fatalf("only ended ones: %v, %v; want none", got, err)
	}
	for _, phase := range []v1alpha1.Phase{v1alpha1.PhaseRunning, v1alpha1.PhasePaused, v1alpha1.PhaseCancelling} {
		o := testOperation(phase, 30)
		if err := s.CreateOperation(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		got, err := s.ActiveOperations(t.Context(), "shop", "db")
		if err != nil || len(got) != 1 || got[0].Name != o.Name {
			t.Errorf("%s: got %v, %v", phase, got, err)
		}
		o.Status.Phase = v1alpha1.PhaseSucceeded
		if err := s.UpdateOperation(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := s.ActiveOperations(t.Context(), "shop", "other"); err != nil || len(got) > 0 {
		t.Errorf("another cluster: %v, %v; want none", got, err)
	}
}

func TestListOperationsNewestFirst(t *testing.T) {
	c, _ := kubetest.New(t, interceptor.Funcs{})
	s := NewConfigMaps(c)
	var want []string
	for i := range 3 {
		o := testOperation(v1alpha1.PhaseSucceeded, i)
		if err := s.CreateOperation(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		want = append([]string{o.Name}, want...)
	}
	for _, cluster := range []string{"db", ""} {
		all, err := s.ListOperations(t.Context(), "shop", cluster)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range all {
			got = append(got, o.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("cluster %q (-want +got):\n%s", cluster, diff)
		}
	}
}

func TestJournalIsBounded(t *testing.T) {
	c, _ := kubetest.New(t, interceptor.Funcs{})
	s := NewConfigMaps(c)
	o := testOperation(v1alpha1.PhaseRunning, 0)
	for i := range maxJournal + 50 {
		o.Status.Journal = append(o.Status.Journal, v1alpha1.JournalEntry{Step: strconv.Itoa(i)})
	}
	if err := s.CreateOperation(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if len(o.Status.Journal) != maxJournal+50 {
		t.Errorf("the caller's journal was cut to %d", len(o.Status.Journal))
	}
	got, err := s.GetOperation(t.Context(), "shop", o.Name)
	if err != nil {
		t.Fatal(err)
	}
	if j := got.Status.Journal; len(j) != maxJournal || j[0].Step != "50" {
		t.Errorf("stored %d entries from %q, want %d from 50", len(j), j[0].Step, maxJournal)
	}
}
