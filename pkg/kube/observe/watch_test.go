package observe

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
)

func TestChangesAreCoalescedAndSurviveTheWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		watches := make(chan *watch.FakeWatcher, 8)
		c, _ := kubetest.New(t, interceptor.Funcs{Watch: func(context.Context, client.WithWatch, client.ObjectList,
			...client.ListOption) (watch.Interface, error) {
			w := watch.NewFake()
			watches <- w
			return w, nil
		}})
		ctx, cancel := context.WithCancel(t.Context())
		changes := Watch(ctx, c, "shop", "db")
		for range 2 {
			w := <-watches
			for range 3 {
				w.Modify(testPod())
			}
			<-changes
			synctest.Wait()
			if n := len(changes); n > 1 {
				t.Errorf("%d wake-ups are queued", n)
			}
			for len(changes) > 0 {
				<-changes
			}
			w.Stop()
		}
		cancel()
	})
}

func TestChangesGiveUpWithoutTheRight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tries atomic.Int64
		c, _ := kubetest.New(t, interceptor.Funcs{Watch: func(context.Context, client.WithWatch, client.ObjectList,
			...client.ListOption) (watch.Interface, error) {
			tries.Add(1)
			return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", nil)
		}})
		changes := Watch(t.Context(), c, "shop", "db")
		select {
		case <-changes:
			t.Error("a change without a watch")
		case <-time.After(time.Hour):
		}
		if tries.Load() != 1 {
			t.Errorf("tried %d times", tries.Load())
		}
	})
}
