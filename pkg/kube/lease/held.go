package lease

import (
	"errors"
	"fmt"
	"time"
)

// HeldError says who holds the cluster, or takes a backup of it. It wraps ErrHeld.
type HeldError struct {
	Cluster string
	Scope   Scope
	Holder  string
	// Since when, by the holder's clock.
	Since time.Time
	// Operation that the holder named, or "".
	Operation string
}

func (e *HeldError) Error() string {
	what := ""
	if e.Operation != "" {
		what = " (" + e.Operation + ")"
	}
	if e.Scope == Backup {
		return fmt.Sprintf("a backup of cluster %s is taken by %s%s since %s", e.Cluster, e.Holder, what,
			e.Since.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("cluster %s is held by %s%s since %s", e.Cluster, e.Holder, what,
		e.Since.UTC().Format(time.RFC3339))
}

// Unwrap makes errors.Is(err, ErrHeld) true.
func (e *HeldError) Unwrap() error { return ErrHeld }

// Hint is what to do next.
func (e *HeldError) Hint() string {
	return "wait for it to end, or stop that process; an abandoned lease is taken over by itself"
}

// Errors that callers compare with errors.Is.
var (
	// ErrHeld: another process holds the lease of the cluster.
	ErrHeld = errors.New("another operation holds the cluster")
	// ErrLost: the lease is not ours any more; nothing irreversible may follow.
	ErrLost = errors.New("the lease of the cluster was lost")
)
