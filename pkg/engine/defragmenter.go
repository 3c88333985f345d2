package engine

import "context"

// Defragmenter is what a Session also is if its engine keeps space in its
// files that deleted data left (Capabilities.DefragmentGain is not 0).
type Defragmenter interface {
	// Defragment gives the space back to the file system. The member does not
	// answer meanwhile; a repeat finds little to do. Interrupted, the old file
	// stays in use. ErrNoSpace (wrapped) if the volume was too full.
	Defragment(ctx context.Context, member string) error
}

// Rewriter is what an Engine also is if a defragmentation writes a copy of the
// data next to the old file, so that it needs free space on the volume.
type Rewriter interface {
	// RewriteRoom is how many bytes must be free on the volume of a member: the
	// copy, and what its log may take meanwhile.
	RewriteRoom(Member) int64
	// RewriteLeftovers is the pattern, below the data directory, of the files that
	// a failed defragmentation leaves. The member deletes them when it starts.
	RewriteLeftovers() string
}
