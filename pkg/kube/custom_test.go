package kube

import (
	"errors"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// mirrored is a cluster under a custom resource, in both of which three members are wanted.
func mirrored(t *testing.T, linked bool) (*Client, MirroredStore, *v1alpha1.DatabaseCluster) {
	t.Helper()
	custom := &v1alpha1.DatabaseCluster{Spec: testCluster().Spec}
	custom.Name, custom.Namespace, custom.UID = "db", "shop", "custom"
	custom.Spec.Members, custom.Status.Operator = 3, "system/heart"
	c, _ := newFake(t, interceptor.Funcs{}, custom)
	o := testCluster()
	o.UID, o.Spec.Members = "", 3
	if linked {
		o.Annotations = map[string]string{v1alpha1.AnnotationCustom: "custom"}
	}
	if err := NewConfigMapStore(c).CreateCluster(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	return c, NewMirroredStore(c), o
}

// TestMirror: what the command line changes is changed where a person looks,
// and what a person has just put there stays.
func TestMirror(t *testing.T) {
	t.Parallel()
	for _, linked := range []bool{true, false} {
		c, s, o := mirrored(t, linked)
		custom, err := c.GetCustom(t.Context(), "shop", "db")
		if err != nil {
			t.Fatal(err)
		}
		custom.Spec.Version = "3.7.3"
		if err := c.api.Update(t.Context(), custom); err != nil {
			t.Fatal(err)
		}
		o.Spec.Members = 5
		o.Spec.RestoreFrom = &v1alpha1.RestoreSource{Repository: "dir:/backups", Backup: "b"} // by a restore in place
		if err := s.UpdateCluster(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		custom, err = c.GetCustom(t.Context(), "shop", "db")
		want := int32(3)
		if linked {
			want = 5
		}
		if err != nil || custom.Spec.Members != want || custom.Spec.Version != "3.7.3" || custom.Spec.RestoreFrom != nil {
			t.Errorf("linked %t: %v, %+v", linked, err, custom.Spec)
		}
		if got, err := s.GetCluster(t.Context(), "shop", "db"); err != nil || got.Spec.Members != 5 || got.Spec.Version == "3.7.3" {
			t.Errorf("record: %v, %+v", err, got)
		}
	}
}

// TestMirrorWithoutCustom: nobody is to be told where the object is gone.
func TestMirrorWithoutCustom(t *testing.T) {
	t.Parallel()
	c, s, o := mirrored(t, true)
	custom, err := c.GetCustom(t.Context(), "shop", "db")
	if err != nil || c.DeleteCustom(t.Context(), custom) != nil {
		t.Fatal(err)
	}
	o.Spec.Members = 5
	if err := s.UpdateCluster(t.Context(), o); err != nil {
		t.Error(err)
	}
	if _, err := c.GetCustom(t.Context(), "shop", "db"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}

func TestOperatorAlive(t *testing.T) {
	t.Parallel()
	heart := func(holder string, age time.Duration) *coordinationv1.Lease {
		renewed := metav1.NewMicroTime(time.Now().Add(-age))
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "heart"}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &renewed}}
	}
	for _, row := range []struct {
		name  string
		lease client.Object
		alive bool
	}{
		{"fresh", heart("pod", time.Second), true},
		{"old", heart("pod", time.Hour), false},
		{"given back", heart("", time.Second), false},
		{"none", nil, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c, _, _ := mirrored(t, true)
			if row.lease != nil {
				if err := c.api.Create(t.Context(), row.lease); err != nil {
					t.Fatal(err)
				}
			}
			if alive, err := c.OperatorAlive(t.Context(), "shop", "db"); alive != row.alive || err != nil {
				t.Errorf("%t, %v", alive, err)
			}
		})
	}
	c, _ := newFake(t, interceptor.Funcs{})
	if alive, err := c.OperatorAlive(t.Context(), "shop", "db"); alive || err != nil {
		t.Errorf("without an object: %t, %v", alive, err)
	}
}
