// Package runner drives operations: it checks a request, records it, and performs
// one step after another under the lease of the cluster, observing in between.
package runner
