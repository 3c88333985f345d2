package lease

import (
	"context"
	"errors"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
)

// outage lets every request of a fake fail while it is on; hang makes them hang.
type outage struct{ on, hang atomic.Bool }

func (o *outage) check(ctx context.Context) error {
	if o.hang.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	if o.on.Load() {
		return errors.New("the API server is away")
	}
	return nil
}

func (o *outage) funcs() interceptor.Funcs {
	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object,
			opts ...client.GetOption) error {
			if err := o.check(ctx); err != nil {
				return err
			}
			return c.Get(ctx, key, obj, opts...)
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			if err := o.check(ctx); err != nil {
				return err
			}
			return c.Update(ctx, obj, opts...)
		},
	}
}

func lostAfter(l Lease, limit time.Duration) (time.Duration, bool) {
	began := time.Now()
	select {
	case <-l.Lost():
		return time.Since(began), true
	case <-time.After(limit):
		return 0, false
	}
}

func TestLeaseOutlivesItsAcquirersContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := kubetest.New(t, interceptor.Funcs{})
		ctx, cancel := context.WithCancel(t.Context())
		l, err := Acquire(ctx, c, "shop", "db", Cluster, Options{})
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		if after, lost := lostAfter(l, time.Hour); lost {
			t.Errorf("lost after %v", after)
		}
		if err := l.Check(t.Context()); err != nil {
			t.Errorf("check: %v", err)
		}
		if err := l.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestLeaseRidesOutAShortOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o outage
		c, _ := kubetest.New(t, o.funcs())
		l, err := Acquire(t.Context(), c, "shop", "db", Cluster, Options{})
		if err != nil {
			t.Fatal(err)
		}
		o.on.Store(true)
		time.AfterFunc(9*time.Second, func() { o.on.Store(false) })
		if after, lost := lostAfter(l, time.Minute); lost {
			t.Errorf("lost after %v", after)
		}
		if err := l.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// One request that is never answered is no reason to lose the lease.
func TestLeaseOutlivesARenewalThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := 1
		c, _ := kubetest.New(t, interceptor.Funcs{
			Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
				if hangs--; hangs >= 0 {
					<-ctx.Done()
					return ctx.Err()
				}
				return c.Update(ctx, obj, opts...)
			},
		})
		l, err := Acquire(t.Context(), c, "shop", "db", Cluster, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if after, lost := lostAfter(l, time.Minute); lost {
			t.Errorf("lost after %v", after)
		}
		if err := l.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// A process that was stopped reads the answer to its renewal when it is
// worth nothing any more.
func TestLeaseIsLostByAnAnswerThatComesTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := kubetest.New(t, interceptor.Funcs{
			Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
				err := c.Update(ctx, obj, opts...)
				time.Sleep(20 * time.Second)
				return err
			},
		})
		l, err := Acquire(t.Context(), c, "shop", "db", Cluster, Options{})
		if err != nil {
			t.Fatal(err)
		}
		after, lost := lostAfter(l, time.Minute)
		if !lost || after > 25*time.Second {
			t.Errorf("lost=%v after %v, want as soon as the answer is there", lost, after)
		}
		if err := l.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// After an outage that outlasted the lease, it is ours again if nobody took it.
func TestLostLeaseIsRegainedOnlyIfNobodyHeldIt(t *testing.T) {
	for name, taken := range map[string]bool{"nobody": false, "another": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var o outage
				c, api := kubetest.New(t, o.funcs())
				l, err := Acquire(t.Context(), c, "shop", "db", Cluster, Options{})
				if err != nil {
					t.Fatal(err)
				}
				o.on.Store(true)
				if _, lost := lostAfter(l, time.Minute); !lost {
					t.Fatal("not lost")
				}
				if _, err := l.Regain(t.Context()); err == nil || errors.Is(err, ErrLost) {
					t.Errorf("while the API server is away nothing is known: %v", err)
				}
				o.on.Store(false)
				if taken {
					theirs := readLease(t, api)
					eve := "eve@elsewhere/1"
					theirs.Spec.HolderIdentity = &eve
					if err := api.Update(t.Context(), theirs); err != nil {
						t.Fatal(err)
					}
				}
				again, err := l.Regain(t.Context())
				if taken {
					if !errors.Is(err, ErrLost) || displayHolder(readLease(t, api)) != "eve@elsewhere" {
						t.Errorf("got %v", err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if after, lost := lostAfter(again, time.Minute); lost {
					t.Errorf("regained, and lost after %v", after)
				}
				if err := again.Check(t.Context()); err != nil {
					t.Error(err)
				}
				if err := again.Release(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestReleaseIsRepeatedOverAHiccup(t *testing.T) {
	for name, performed := range map[string]bool{"before": false, "after": true} {
		t.Run(name, func(t *testing.T) {
			failing := 2
			c, api := kubetest.New(t, interceptor.Funcs{
				Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
					if failing--; failing < 0 {
						return c.Update(ctx, obj, opts...)
					}
					if performed {
						_ = c.Update(ctx, obj, opts...)
					}
					return syscall.ECONNRESET
				},
			}, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: v1alpha1.Record("db")}})
			l, err := Acquire(t.Context(), c, "shop", "db", Cluster, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			left := &coordinationv1.Lease{}
			if err := api.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: v1alpha1.Record("db")},
				left); err != nil ||
				holder(left) != "" {
				t.Errorf("the lease is held by %q: %v", holder(left), err)
			}
		})
	}
}

func TestLeaseIsLostWhenItCanNotBeRenewed(t *testing.T) {
	for _, kind := range []string{"fails", "hangs"} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var o outage
				c, _ := kubetest.New(t, o.funcs())
				l, err := Acquire(t.Context(), c, "shop", "db", Cluster, Options{})
				if err != nil {
					t.Fatal(err)
				}
				o.on.Store(kind == "fails")
				o.hang.Store(kind == "hangs")
				// Another may act 15 s after it saw our last write: not before we know.
				after, lost := lostAfter(l, time.Minute)
				if !lost || after > 15*time.Second {
					t.Errorf("lost=%v after %v, want within 15 s", lost, after)
				}
				if err := l.Check(t.Context()); !errors.Is(err, ErrLost) {
					t.Errorf("check: %v, want ErrLeaseLost", err)
				}
				o.on.Store(false)
				o.hang.Store(false)
				if err := l.Release(t.Context()); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

func TestStolenLeaseIsNoticedAndLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, api := kubetest.New(t, interceptor.Funcs{})
		l, err := Acquire(t.Context(), c, "shop", "db", Cluster, Options{})
		if err != nil {
			t.Fatal(err)
		}
		thief := "eve@elsewhere/1"
		stolen := readLease(t, api)
		stolen.Spec.HolderIdentity = &thief
		if err := api.Update(t.Context(), stolen); err != nil {
			t.Fatal(err)
		}
		if err := l.Check(t.Context()); !errors.Is(err, ErrLost) {
			t.Errorf("check: %v, want ErrLeaseLost", err)
		}
		if _, lost := lostAfter(l, time.Millisecond); !lost {
			t.Error("check did not close Lost")
		}
		if err := l.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := holder(readLease(t, api)); got != thief {
			t.Errorf("release took the lease from %s: %q", thief, got)
		}
	})
}

func TestReleaseClearsOrDeletes(t *testing.T) {
	record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: v1alpha1.Record("db")}}
	for _, tt := range []struct {
		name    string
		objects []client.Object
		kept    bool
	}{{"kept with the cluster", []client.Object{record}, true}, {"gone with it", nil, false}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, api := kubetest.New(t, interceptor.Funcs{}, tt.objects...)
				l, err := Acquire(t.Context(), c, "shop", "db", Cluster, Options{})
				if err != nil {
					t.Fatal(err)
				}
				for range 2 {
					if err := l.Release(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if tt.kept {
					if got := holder(readLease(t, api)); got != "" {
						t.Errorf("still held by %q", got)
					}
					return
				}
				key := client.ObjectKey{Namespace: "shop", Name: v1alpha1.Record("db")}
				if err := c.API.Get(t.Context(), key, foreignLease()); !errors.Is(err, kube.ErrNotFound) {
					t.Errorf("got %v, want no lease", err)
				}
			})
		})
	}
}

// TestBackupHasALeaseOfItsOwn: both are held at a time, and go with the cluster, even that of a backup whose process
// died.
func TestBackupHasALeaseOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, api := kubetest.New(t, interceptor.Funcs{})
		backup, err := Acquire(t.Context(), c, "shop", "db", Backup, Options{Identity: "bob@here"})
		if err != nil {
			t.Fatal(err)
		}
		cluster, err := Acquire(t.Context(), c, "shop", "db", Cluster, Options{Identity: "alice@here"})
		if err != nil {
			t.Fatal(err)
		}
		held, ok := errors.AsType[*HeldError](func() error {
			_, err := Acquire(t.Context(), c, "shop", "db", Backup, Options{})
			return err
		}())
		if !ok || held.Scope != Backup || held.Holder != "bob@here" {
			t.Errorf("got %+v", held)
		}
		if h, err := ReadHolding(t.Context(), c, "shop", "db", Backup); err != nil || h.Holder != "bob@here" {
			t.Errorf("%+v, %v", h, err)
		}
		if err := cluster.Release(t.Context()); err != nil { // there is no record: it was deleted
			t.Fatal(err)
		}
		var left coordinationv1.LeaseList
		if err := api.List(t.Context(), &left); err != nil || len(left.Items) > 0 {
			t.Errorf("%v, left: %v", err, left.Items)
		}
		if err := backup.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
