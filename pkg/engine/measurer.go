package engine

// Measurer is what an Engine also is if it can count how far a member's history
// is behind another's. It is pure.
type Measurer interface {
	// Behind counts the log entries that a running member has not applied yet and
	// another has; false if the positions can't be compared.
	Behind(member, other Position) (int64, bool)
}
