package engine

import "strings"

// Fingerprint describes a body of data well enough to tell two apart.
type Fingerprint struct {
	// Proof is what Rules.CompareProofs reads.
	Proof Proof `json:"proof,omitempty"`
	// Readings describe the data to people: revision 42, keys 7.
	Readings []Reading `json:"readings,omitempty"`
}

// Reading is one value that an engine names in its own words: "revision", "42".
type Reading struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Reading returns the value of that name, "" if there is none.
func (f Fingerprint) Reading(name string) string {
	for _, r := range f.Readings {
		if r.Name == name {
			return r.Value
		}
	}
	return ""
}

// Summary is all readings in one line: "revision 42, keys 7".
func (f Fingerprint) Summary() string {
	parts := make([]string, len(f.Readings))
	for i, r := range f.Readings {
		parts[i] = r.Name + " " + r.Value
	}
	return strings.Join(parts, ", ")
}

// Proof is what shows that two bodies of data hold the same, for example a
// count and a hash. It is opaque outside its engine; people are shown how it
// begins. "" proves nothing: it is what an engine without a proof returns.
type Proof string

// Short is the beginning of a proof, for messages.
func (p Proof) Short() string {
	if p == "" {
		return "data without a proof"
	}
	return string(p[:min(len(p), 40)])
}

// Match is what the comparison of two proofs says.
type Match string

// The matches. Nothing counts as verified but MatchSame.
const (
	// MatchUnknown: one of them proves nothing, or they are of different kinds.
	MatchUnknown   Match = ""
	MatchSame      Match = "same"
	MatchDifferent Match = "different"
)
