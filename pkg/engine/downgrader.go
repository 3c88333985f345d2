package engine

import "context"

// Downgrader is what a Session also is if its engine takes a running cluster
// to an older version.
type Downgrader interface {
	// AnnounceDowngrade lets the cluster speak and write what target
	// understands, which CheckLowered then sees; members keep running what they
	// run. It can be taken back.
	AnnounceDowngrade(ctx context.Context, target string) error
	// WithdrawDowngrade takes an announcement back. Members that have moved
	// go on, and the cluster stays with what they understand until they are back.
	WithdrawDowngrade(ctx context.Context) error
}
