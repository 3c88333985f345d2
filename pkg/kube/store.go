package kube

import (
	"context"
	"errors"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// Errors that callers compare with errors.Is.
var (
	// ErrNotFound: the object does not exist.
	ErrNotFound = errors.New("not found")
	// ErrExists: an object of that name exists already.
	ErrExists = errors.New("exists already")
	// ErrConflict: somebody else wrote in between; read again.
	ErrConflict = errors.New("changed by somebody else in the meantime")
	// ErrHeld: another process holds the lease of the cluster.
	ErrHeld = errors.New("another operation holds the cluster")
	// ErrLeaseLost: the lease is not ours any more; nothing irreversible may follow.
	ErrLeaseLost = errors.New("the lease of the cluster was lost")
)

// Store keeps DatabaseClusters and Operations; today in ConfigMaps, with an
// operator in custom resources. Nothing above it may know which. Every write
// is guarded by the resource version that the object was read with and
// returns ErrConflict (wrapped) if it is stale; on success the object passed
// in carries the new one.
type Store interface {
	GetCluster(ctx context.Context, namespace, name string) (*v1alpha1.DatabaseCluster, error)
	// ListClusters lists one namespace, or all for "", by a label selector ("" for all), sorted by namespace and name.
	ListClusters(ctx context.Context, namespace, selector string) ([]v1alpha1.DatabaseCluster, error)
	CreateCluster(ctx context.Context, c *v1alpha1.DatabaseCluster) error
	UpdateCluster(ctx context.Context, c *v1alpha1.DatabaseCluster) error
	DeleteCluster(ctx context.Context, c *v1alpha1.DatabaseCluster) error

	// CreateOperation names the record after its cluster and a fresh
	// identifier if it has no name yet.
	CreateOperation(ctx context.Context, o *v1alpha1.Operation) error
	UpdateOperation(ctx context.Context, o *v1alpha1.Operation) error
	GetOperation(ctx context.Context, namespace, name string) (*v1alpha1.Operation, error)
	// ListOperations lists a cluster's records, newest first; all clusters of
	// the namespace for "". Records outlive their cluster.
	ListOperations(ctx context.Context, namespace, cluster string) ([]v1alpha1.Operation, error)
	// ActiveOperation returns the record that holds the cluster, or nil.
	ActiveOperation(ctx context.Context, namespace, cluster string) (*v1alpha1.Operation, error)
}

// Lease is a held lock on one cluster. It renews itself until Release.
type Lease interface {
	// Check asks the API server whether the lease is still ours; ErrLeaseLost
	// if not, or if it could not be renewed for its whole duration. Called
	// before every step that can't be undone.
	Check(ctx context.Context) error
	// Lost is closed when the lease is gone.
	Lost() <-chan struct{}
	// Regain takes a lost lease back if nobody held it meanwhile, as after an
	// outage of the API server, in which nobody can; ErrLeaseLost otherwise.
	Regain(ctx context.Context) (Lease, error)
	// Release gives the lease back; a repeat does nothing.
	Release(ctx context.Context) error
}
