// Package memberconfig reads from a pod that something else made how its etcd member runs.
package memberconfig
