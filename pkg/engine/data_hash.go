package engine

import "context"

// DataHash describes what a member is to begin with.
type DataHash struct {
	Fingerprint `json:",inline"`
	// Mark is what a member that begins with this data can be asked about, in
	// the engine's own words; "" if it could not say.
	Mark string `json:"mark,omitempty"`
}

// DataHasher is an engine whose members can say what they hold without sending
// all of it; its sessions are HashVerifiers.
type DataHasher interface {
	// DataHash reads the file of a backup, and says what a member holds that begins with what command, a LoadCommand,
	// makes of it. The command may be at work on the file meanwhile.
	DataHash(file string, command []string) (DataHash, error)
}

// HashVerifier is what the sessions of a DataHasher also are.
type HashVerifier interface {
	// VerifyHash has a member hash what it serves, and reports whether it is what the
	// mark was taken of, whatever was written since. A no is no proof of the
	// contrary: servers of different versions may hash in different ways.
	VerifyHash(ctx context.Context, member, mark string) (bool, error)
}
