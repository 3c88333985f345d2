package engine

import "context"

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

// LiveOption is one that the server of a member told of.
type LiveOption struct {
	Option

	// Value is the one of that member, "" if it is Kept.
	Value string
	// Given: the value does not come from the server's own default alone.
	Given bool
	// Overridden: somebody set it on this member alone.
	Overridden bool
	// Kept: the agent beside the server sets it.
	Kept bool
}

// OptionReader is what a Session also is if its engine has LiveSettings: which options there are, the server knows.
type OptionReader interface {
	// ReadOptions asks one member, the leader if it answers, in the order of names. ErrNotReady, wrapped, if none does.
	ReadOptions(ctx context.Context) ([]LiveOption, error)
}

// OverrideTaker is what a Session also is whose views have members with Overridden settings.
type OverrideTaker interface {
	// TakeBack takes all of them back on a member. A repeat has no effect.
	TakeBack(ctx context.Context, member string) error
}
