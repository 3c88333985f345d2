// Package etcd tests the built plugin on a real Kubernetes cluster with real
// etcd, as a user and as an application meet it. The tests are behind the
// build tag e2e; hack/e2e.sh runs them.
package etcd
