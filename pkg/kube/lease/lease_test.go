package lease

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
)

// foreignLease is held by somebody on another machine, whose clock is a year behind.
func foreignLease() *coordinationv1.Lease {
	holder, seconds := "eve@elsewhere/0badc0de", int32(15)
	then := metav1.NewMicroTime(time.Now().Add(-365 * 24 * time.Hour))
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: v1alpha1.Record("db"),
			Annotations: map[string]string{kube.AnnotationOperation: "upgrade"}},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, AcquireTime: &then,
			RenewTime: &then},
	}
}

func readLease(t *testing.T, api client.Client) *coordinationv1.Lease {
	t.Helper()
	l := &coordinationv1.Lease{}
	if err := api.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: v1alpha1.Record("db")}, l); err != nil {
		t.Fatal(err)
	}
	return l
}

func TestAcquireFreeLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, api := kubetest.New(t, interceptor.Funcs{})
		began := time.Now()
		l, err := Acquire(t.Context(), c, "shop", "db", Cluster, Options{Identity: "alice@here", Operation: "scale"})
		if err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("waited %v for a free lease", waited)
		}
		if got := readLease(t, api); displayHolder(got) != "alice@here" ||
			got.Annotations[kube.AnnotationOperation] != "scale" {
			t.Errorf("holder %q, operation %q", displayHolder(got), got.Annotations[kube.AnnotationOperation])
		}
		if err := l.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestAcquireTakesOverAbandonedLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := kubetest.New(t, interceptor.Funcs{}, foreignLease())
		began := time.Now()
		var told []string
		l, err := Acquire(t.Context(), c, "shop", "db", Cluster, Options{Waiting: func(holder string, left time.Duration) {
			told = append(told, holder)
			if left <= 0 || left > 15*time.Second {
				t.Errorf("told of %v left", left)
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		// Its timestamps are a year old; only our own watch counts.
		if waited := time.Since(began); waited < 15*time.Second || waited > 17*time.Second {
			t.Errorf("waited %v, want the lease's own 15 s", waited)
		}
		if len(told) != 1 || told[0] != "eve@elsewhere" {
			t.Errorf("told %v, want once of eve@elsewhere", told)
		}
		if err := l.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestAcquireGivesUpOnLivingHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := kubetest.New(t, interceptor.Funcs{})
		first, err := Acquire(t.Context(), c, "shop", "db", Cluster, Options{Identity: "alice@here", Operation: "scale"})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err = Acquire(t.Context(), c, "shop", "db", Cluster,
			Options{Waiting: func(string, time.Duration) { t.Error("a renewed lease is called abandoned") }})
		var held *HeldError
		if !errors.As(err, &held) || !errors.Is(err, ErrHeld) || held.Holder != "alice@here" || held.Operation != "scale" ||
			kube.Hint(err) == "" {
			t.Errorf("got %v, want HeldError of alice@here", err)
		}
		if waited := time.Since(began); waited > 7*time.Second {
			t.Errorf("took %v to see that the holder lives", waited)
		}
		if err := first.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		second, err := Acquire(t.Context(), c, "shop", "db", Cluster, Options{})
		if err != nil {
			t.Fatalf("after release: %v", err)
		}
		if err := second.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestAcquireTakesOverFromDeadProcessAtOnce(t *testing.T) {
	table := processTable{root: "/proc"}
	self, ok := table.self()
	if !ok {
		t.Skip("this machine has no /proc to prove a death with")
	}
	self.Start += "1"
	synctest.Test(t, func(t *testing.T) {
		dead := foreignLease()
		dead.Annotations[kube.AnnotationProcess] = self.encode()
		c, _ := kubetest.New(t, interceptor.Funcs{}, dead)
		began := time.Now()
		l, err := Acquire(t.Context(), c, "shop", "db", Cluster, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("waited %v for a dead process", waited)
		}
		if err := l.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestAcquireEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, api := kubetest.New(t, interceptor.Funcs{}, foreignLease())
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
		defer cancel()
		if _, err := Acquire(ctx, c, "shop", "db", Cluster, Options{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the deadline", err)
		}
		if got := displayHolder(readLease(t, api)); got != "eve@elsewhere" {
			t.Errorf("lease is held by %s", got)
		}
	})
}

func TestOnlyOneOfManyAcquires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := kubetest.New(t, interceptor.Funcs{}, foreignLease())
		won := make(chan Lease, 8)
		lost := make(chan error, 8)
		for range cap(won) {
			go func() {
				l, err := Acquire(t.Context(), c, "shop", "db", Cluster, Options{})
				if err != nil {
					lost <- err
					return
				}
				won <- l
			}()
		}
		for range cap(won) - 1 {
			if err := <-lost; !errors.Is(err, ErrHeld) {
				t.Errorf("got %v, want ErrHeld", err)
			}
		}
		if err := (<-won).Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// What came of a write is unknown if its answer is lost: it may have taken the
// lease. Nobody must then wait for themselves.
func TestAcquireOverLostAnswers(t *testing.T) {
	for name, performed := range map[string]bool{"before it was done": false, "after it was done": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				failing := 2
				c, _ := kubetest.New(t, interceptor.Funcs{
					Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
						if failing--; failing < 0 {
							return c.Create(ctx, obj, opts...)
						}
						if performed {
							_ = c.Create(ctx, obj, opts...)
						}
						return syscall.ECONNRESET
					},
				})
				began := time.Now()
				l, err := Acquire(t.Context(), c, "shop", "db", Cluster, Options{})
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took > time.Second {
					t.Errorf("it took %s", took)
				}
				if err := l.Check(t.Context()); err != nil {
					t.Error(err)
				}
				if err := l.Release(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestAcquireGivesUpInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := kubetest.New(t, interceptor.Funcs{
			Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
				return syscall.ECONNRESET
			},
		})
		_, err := Acquire(t.Context(), c, "shop", "db", Cluster, Options{})
		if !errors.Is(err, syscall.ECONNRESET) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v", err)
		}
	})
}
