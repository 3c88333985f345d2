package engine

import "context"

// Imprint describes a data directory that stands still.
type Imprint struct {
	Fingerprint `json:",inline"`
	// Mark is what a member that begins with this data can be asked about, in
	// the engine's own words; "" if it could not say.
	Mark string `json:"mark,omitempty"`
}

// Imprinter is an engine whose members can say what they hold without sending
// all of it; its sessions are Attesters.
type Imprinter interface {
	// Imprint reads the directory that LoadCommand made.
	Imprint(dataDir string) (Imprint, error)
}

// Attester is what the sessions of an Imprinter also are.
type Attester interface {
	// Attest has a member hash what it serves, and reports whether it is what the
	// mark was taken of, whatever was written since. A no is no proof of the
	// contrary: servers of different versions may hash in different ways.
	Attest(ctx context.Context, member, mark string) (bool, error)
}
