package engine

import "context"

// Preparer is what a Session also is if its engine has something to do before
// the members restart on another version, while they still run the old one.
type Preparer interface {
	// PrepareUpgrade makes the named members ready to restart on target. It
	// changes no data, may take a minute, and can be repeated. It is called
	// when CheckUpgrade allows the step and before the first member restarts.
	PrepareUpgrade(ctx context.Context, members []string, target string) error
}
