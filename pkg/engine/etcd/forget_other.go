//go:build !linux

package etcd

// forget does nothing where the system can't be told.
func forget(uintptr, string) (stop func()) { return func() {} }
