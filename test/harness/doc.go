// Package harness drives the built plugin against a real Kubernetes cluster
// and watches, as an ordinary client, what that does to the database: it runs
// the binary, speaks to Kubernetes and etcd by itself, writes under load and
// judges the history. It knows the product only by its command line and by the
// names of the objects that it promises.
package harness
