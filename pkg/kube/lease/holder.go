package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// Holding says who holds a cluster, for people. It decides nothing: it
// compares clocks of two machines, which Acquire never does.
type Holding struct {
	// Holder is empty if nobody holds the cluster.
	Holder string `json:"holder,omitempty"`
	// Operation is what the holder said that it does.
	Operation string    `json:"operation,omitempty"`
	Since     time.Time `json:"since,omitzero"`
}

// silence is how many durations of a lease a living holder never misses, with
// some difference between clocks.
const silence = 4

// ReadHolding reads a lease of a cluster. A holder whose process is dead, or
// that did not renew the lease for long, is none.
func ReadHolding(ctx context.Context, c *kube.Client, namespace, cluster string, scope Scope) (Holding,
	error) {
	l := &coordinationv1.Lease{}
	err := c.API.Get(ctx, client.ObjectKey{Namespace: namespace, Name: scope.name(cluster)}, l)
	switch {
	case errors.Is(err, kube.ErrNotFound):
		return Holding{}, nil
	case err != nil:
		return Holding{}, fmt.Errorf("read the lease of cluster %s: %w", cluster, err)
	}
	p, known := decodeProcess(l.Annotations[kube.AnnotationProcess])
	if holder(l) == "" || known && (processTable{root: "/proc"}).dead(p) || silent(l, c.Now()) {
		return Holding{}, nil
	}
	h := Holding{Holder: displayHolder(l), Operation: l.Annotations[kube.AnnotationOperation]}
	if l.Spec.AcquireTime != nil {
		h.Since = l.Spec.AcquireTime.UTC()
	}
	return h, nil
}

func silent(l *coordinationv1.Lease, now time.Time) bool {
	if l.Spec.RenewTime == nil || l.Spec.LeaseDurationSeconds == nil {
		return false
	}
	return now.Sub(l.Spec.RenewTime.Time) > silence*time.Duration(*l.Spec.LeaseDurationSeconds)*time.Second
}
