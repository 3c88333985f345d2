package kube

import "fmt"

// HeldError says who holds the lease of a cluster and is alive. It wraps ErrHeld.
type HeldError struct {
	Cluster, Holder string
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("cluster %s is being operated by %s", e.Cluster, e.Holder)
}

// Unwrap makes errors.Is(err, ErrHeld) true.
func (e *HeldError) Unwrap() error { return ErrHeld }
