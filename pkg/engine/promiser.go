package engine

import "github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"

// Promiser is what an Engine also is if what a cluster may lose depends on its options.
type Promiser interface {
	// Promises says what a cluster of a spec may lose, and what stops it, a sentence each. It is pure.
	Promises(spec v1alpha1.DatabaseClusterSpec) []string
}
