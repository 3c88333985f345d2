package simulation

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/runner"
)

// records is what the API server keeps of clusters and operations.
type records struct {
	clusters   map[string]*v1alpha1.DatabaseCluster
	operations map[string]*v1alpha1.Operation
	order      []string
	version    int
	writes     int
}

func newRecords() records {
	return records{clusters: map[string]*v1alpha1.DatabaseCluster{}, operations: map[string]*v1alpha1.Operation{}}
}

func (r *records) stamp() string {
	r.version++
	r.writes++
	return strconv.Itoa(r.version)
}

// active returns the ordinary operation in flight of a cluster, or nil.
func (r *records) active(cluster string) *v1alpha1.Operation { return r.under(cluster, lease.Cluster) }

// under returns what is in flight of a cluster under one of its leases, or nil.
func (r *records) under(cluster string, scope lease.Scope) *v1alpha1.Operation {
	for _, name := range r.order {
		if o := r.operations[name]; o.Spec.Cluster == cluster && o.Active() && runner.ScopeOf(o) == scope {
			return o
		}
	}
	return nil
}

// busy reports whether anything is in flight of a cluster.
func (r *records) busy(cluster string) bool {
	return r.active(cluster) != nil || r.under(cluster, lease.Backup) != nil
}

// of lists the operations of a cluster, the newest first.
func (r *records) of(cluster string) []v1alpha1.Operation {
	var out []v1alpha1.Operation
	for _, name := range slices.Backward(r.order) {
		if o := r.operations[name]; o.Spec.Cluster == cluster {
			out = append(out, *o.DeepCopy())
		}
	}
	return out
}

// last returns the newest operation of a cluster, or nil.
func (r *records) last(cluster string) *v1alpha1.Operation {
	for _, name := range slices.Backward(r.order) {
		if o := r.operations[name]; o.Spec.Cluster == cluster {
			return o
		}
	}
	return nil
}

// store is an actor's way to the records.
type recordStore struct{ actor *actor }

var _ store.Store = recordStore{}

func (s recordStore) world() *world { return s.actor.world }

// GetCluster implements store.Store.
func (s recordStore) GetCluster(ctx context.Context, _, name string) (out *v1alpha1.DatabaseCluster, err error) {
	err = s.actor.call(ctx, "get cluster", func() error {
		c := s.world().records.clusters[name]
		if c == nil {
			return fmt.Errorf("cluster %s: %w", name, kube.ErrNotFound)
		}
		out = c.DeepCopy()
		return nil
	})
	return out, err
}

// ListClusters implements store.Store.
func (s recordStore) ListClusters(context.Context, string, string) ([]v1alpha1.DatabaseCluster, error) {
	return nil, nil
}

// CreateCluster implements store.Store.
func (s recordStore) CreateCluster(ctx context.Context, c *v1alpha1.DatabaseCluster) error {
	return s.actor.call(ctx, "create cluster", func() error {
		r := &s.world().records
		if r.clusters[c.Name] != nil {
			return fmt.Errorf("cluster %s: %w", c.Name, kube.ErrExists)
		}
		c.ResourceVersion = r.stamp()
		r.clusters[c.Name] = c.DeepCopy()
		return nil
	})
}

// UpdateCluster implements store.Store.
func (s recordStore) UpdateCluster(ctx context.Context, c *v1alpha1.DatabaseCluster) error {
	return s.actor.call(ctx, "update cluster", func() error {
		r := &s.world().records
		switch have := r.clusters[c.Name]; {
		case have == nil:
			return fmt.Errorf("cluster %s: %w", c.Name, kube.ErrNotFound)
		case have.ResourceVersion != c.ResourceVersion:
			return fmt.Errorf("cluster %s: %w", c.Name, kube.ErrConflict)
		}
		if o := s.world().shared(c.Name); c.Spec.Paused != r.clusters[c.Name].Spec.Paused {
			o.pausedAt = time.Time{}
			if c.Spec.Paused {
				o.pausedAt = s.world().now
			}
			s.world().logf("%s: paused is %v", c.Name, c.Spec.Paused)
		}
		c.ResourceVersion = r.stamp()
		r.clusters[c.Name] = c.DeepCopy()
		return nil
	})
}

// DeleteCluster implements store.Store.
func (s recordStore) DeleteCluster(ctx context.Context, c *v1alpha1.DatabaseCluster) error {
	return s.actor.call(ctx, "delete cluster", func() error {
		r := &s.world().records
		if r.clusters[c.Name] == nil {
			return fmt.Errorf("cluster %s: %w", c.Name, kube.ErrNotFound)
		}
		r.stamp()
		delete(r.clusters, c.Name)
		return nil
	})
}

// CreateOperation implements store.Store.
func (s recordStore) CreateOperation(ctx context.Context, o *v1alpha1.Operation) error {
	return s.actor.call(ctx, "create operation", func() error {
		r := &s.world().records
		if o.Name == "" {
			o.Name = v1alpha1.OperationRecord(o.Spec.Cluster, fmt.Sprintf("%04d", s.world().id()))
		}
		if r.operations[o.Name] != nil {
			return fmt.Errorf("operation %s: %w", o.Name, kube.ErrExists)
		}
		if other := r.under(o.Spec.Cluster, runner.ScopeOf(o)); other != nil {
			s.world().violate("two operations in flight: %s (%s) and %s (%s)", other.Name, other.Spec.Verb, o.Name,
				o.Spec.Verb)
		}
		o.ResourceVersion = r.stamp()
		r.operations[o.Name] = o.DeepCopy()
		r.order = append(r.order, o.Name)
		s.world().written[o.Name] = s.world().now
		s.world().logf("%s writes down %s (%s, members %d, version %s)", s.actor.name, o.Name, o.Spec.Verb, o.Spec.Members,
			o.Spec.Version)
		return nil
	})
}

// UpdateOperation implements store.Store.
func (s recordStore) UpdateOperation(ctx context.Context, o *v1alpha1.Operation) error {
	return s.actor.call(ctx, "update operation", func() error {
		r := &s.world().records
		switch have := r.operations[o.Name]; {
		case have == nil:
			return fmt.Errorf("operation %s: %w", o.Name, kube.ErrNotFound)
		case have.ResourceVersion != o.ResourceVersion:
			return fmt.Errorf("operation %s: %w", o.Name, kube.ErrConflict)
		case have.Active() && !o.Active():
			s.world().ended(o)
		}
		o.ResourceVersion = r.stamp()
		r.operations[o.Name] = o.DeepCopy()
		if facts := r.operations[o.Name].Status.Facts; s.world().mischief.SourceMisnamed && facts[v1alpha1.FactSource] != "" {
			facts[v1alpha1.FactSource] = "nobody"
		}
		return nil
	})
}

// GetOperation implements store.Store. A process reads the record of a backup beside its work, too, so nothing befalls
// it here: it dies at other calls.
func (s recordStore) GetOperation(ctx context.Context, _, name string) (*v1alpha1.Operation, error) {
	defer s.world().lock()()
	o := s.world().records.operations[name]
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case s.world().weather.down(s.world().now):
		return nil, errRequest
	case o == nil:
		return nil, fmt.Errorf("operation %s: %w", name, kube.ErrNotFound)
	}
	return o.DeepCopy(), nil
}

// ListOperations implements store.Store.
func (s recordStore) ListOperations(ctx context.Context, _, cluster string) (out []v1alpha1.Operation, err error) {
	err = s.actor.call(ctx, "list operations", func() error {
		r := &s.world().records
		for _, name := range slices.Backward(r.order) {
			if o := r.operations[name]; cluster == "" || o.Spec.Cluster == cluster {
				out = append(out, *o.DeepCopy())
			}
		}
		return nil
	})
	return out, err
}

// ActiveOperations implements store.Store.
func (s recordStore) ActiveOperations(ctx context.Context, _, cluster string) (out []v1alpha1.Operation, err error) {
	err = s.actor.call(ctx, "find operations in flight", func() error {
		out = nil
		r := &s.world().records
		for _, name := range r.order {
			if o := r.operations[name]; o.Spec.Cluster == cluster && o.Active() {
				out = append(out, *o.DeepCopy())
			}
		}
		return nil
	})
	return out, err
}
