// Package objectstore tests backups in an object store with the built plugin on a real Kubernetes cluster, with real
// etcd and a real store in a pod. The tests are behind the build tag e2e; hack/e2e.sh runs them.
package objectstore
