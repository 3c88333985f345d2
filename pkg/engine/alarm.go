package engine

import (
	"context"
	"slices"
)

// Cause is the reason of an alarm.
type Cause string

// The causes. Of one that the engine does not know the cause is unknown.
const (
	CauseUnknown Cause = ""
	// CauseSpace: the data has reached its limit. Members are well otherwise.
	CauseSpace Cause = "space"
	// CauseDamage: members differ in what they must have in common.
	CauseDamage Cause = "damage"
)

// Alarm is raised for one member until somebody takes it back.
type Alarm struct {
	// Name is the engine's own, for example "NOSPACE".
	Name  string `json:"name"`
	Cause Cause  `json:"cause,omitempty"`
	// MemberID is the identity that it is raised for, "" if that is nobody in
	// particular; Member is the name of it, "" where no member has that identity.
	MemberID string `json:"memberID,omitempty"`
	Member   string `json:"member,omitempty"`
}

// Raised returns the alarms of a cause.
func (v View) Raised(c Cause) []Alarm {
	var out []Alarm
	for _, a := range v.Alarms {
		if a.Cause == c {
			out = append(out, a)
		}
	}
	return out
}

// WithoutAlarms returns the view as it would be if no member had an alarm of these
// causes; which there are it still says.
func (v View) WithoutAlarms(causes ...Cause) View {
	var names []string
	for _, a := range v.Alarms {
		if slices.Contains(causes, a.Cause) {
			names = append(names, a.Name)
		}
	}
	v.Members = slices.Clone(v.Members)
	for i := range v.Members {
		m := &v.Members[i]
		m.Alarms = slices.DeleteFunc(slices.Clone(m.Alarms), func(name string) bool { return slices.Contains(names, name) })
	}
	return v
}

// Copy is a member's copy of the data at a moment that all were asked about.
type Copy struct {
	Member string `json:"member"`
	// Sum over everything; what is equal has equal sums.
	Sum string `json:"sum"`
}

// AlarmClearer is what a Session also is if alarms of its engine stay until they
// are taken back.
type AlarmClearer interface {
	// CompareCopies sums up the data of each of the named members at one moment
	// of its history. ErrNotReady while they have no such moment in common.
	CompareCopies(ctx context.Context, members []string) ([]Copy, error)
	// ClearAlarms takes alarms back, and no others. One that does not stand any more
	// is no error.
	ClearAlarms(ctx context.Context, alarms []Alarm) error
	// ProveWrite has each of the named members take a write that changes nothing
	// which a client could see.
	ProveWrite(ctx context.Context, members []string) error
}
