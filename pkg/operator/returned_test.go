package operator

import (
	"context"
	"errors"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// TestReturned: the operator wakes for what there is once the kind is back, for
// as long as its cache may not know, and for nothing else.
func TestReturned(t *testing.T) {
	t.Parallel()
	scheme, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	there := &v1alpha1.DatabaseCluster{}
	there.Namespace, there.Name = "shop", "db"
	var served bool
	var servedErr error
	k := &returned{served: func(context.Context) (bool, error) { return served, servedErr },
		namespaces: []string{"shop", "bank"},
		api:        fake.NewClientBuilder().WithScheme(scheme).WithObjects(there).Build(),
		wake:       make(chan event.GenericEvent, 10)}
	now, gone := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC), false
	for _, row := range []struct {
		name        string
		served      bool
		err         error
		after       time.Duration
		woken       int
		gone, stale bool
	}{
		{name: "there from the beginning", served: true},
		{name: "the server is away", err: errors.New("503")},
		{name: "gone", gone: true},
		{name: "gone, and the server is away", err: errors.New("503"), gone: true},
		{name: "back", served: true, woken: 1, stale: true},
		{name: "a little later", served: true, after: servedEvery, woken: 1, stale: true},
		{name: "much later", served: true, after: staleFor},
	} {
		served, servedErr = row.served, row.err
		now = now.Add(row.after)
		gone = k.look(t.Context(), now, gone)
		if woken := len(k.wake); gone != row.gone || woken != row.woken || k.stale(now) != row.stale {
			t.Errorf("%s: gone %v, woken %d, stale %v", row.name, gone, woken, k.stale(now))
		}
		for len(k.wake) > 0 {
			<-k.wake
		}
	}
}
