package engine

// OptionLister is what an Engine also is if it can list the options of its
// members. It is pure.
type OptionLister interface {
	// ListOptions names every option that a person may set for that version,
	// and those that this tool manages, sorted by name.
	ListOptions(version string) ([]Option, error)
}

// Option is one option of a member's process.
type Option struct {
	Name string `json:"name"`
	// Kind of value, Allowed values in words, and the database's own Default.
	Kind    string `json:"kind,omitempty"`
	Allowed string `json:"allowed,omitempty"`
	Default string `json:"default,omitempty"`
	// Restart: members read it when they start, so a change restarts them.
	Restart bool `json:"restart"`
	// Managed says why it is not a person's to set, "" if it is.
	Managed string `json:"managed,omitempty"`
}
