// Package store keeps the records of clusters and operations.
package store

import (
	"context"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
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
	// ActiveOperations lists the records in flight of a cluster, oldest first: see ops.Flight.
	ActiveOperations(ctx context.Context, namespace, cluster string) ([]v1alpha1.Operation, error)
}
