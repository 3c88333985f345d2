package engine

import "context"

// Defragmenter is what a Session also is if its engine keeps space in its
// files that deleted data left (Capabilities.DefragmentGain is not 0).
type Defragmenter interface {
	// Defragment gives the space back to the file system. The member does not
	// answer meanwhile; a repeat finds little to do. Interrupted, the old file
	// stays in use.
	Defragment(ctx context.Context, member string) error
}
