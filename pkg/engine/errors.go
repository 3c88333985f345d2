package engine

import "errors"

// Errors that an engine's methods wrap; callers use errors.Is.
var (
	// ErrNotReady: the database asks to wait and try again (a learner that
	// lags, a membership change too soon after another).
	ErrNotReady = errors.New("not ready yet")
	// ErrRefused: the database or a rule forbids it as things stand.
	ErrRefused = errors.New("refused")
	// ErrNotSnapshot: the bytes are no whole snapshot of this engine.
	ErrNotSnapshot = errors.New("not a valid snapshot")
	// ErrNoSpace: a volume has no room for what was to be written.
	ErrNoSpace = errors.New("no space left on the volume")
	// ErrReadOnly: a dry run met a method that changes something.
	ErrReadOnly = errors.New("dry run: the database was not changed")
)

// Refusal is a refusal with the next thing to do. It wraps ErrRefused.
type Refusal struct {
	// Check names what was checked, in kebab case: --force waives by this name where it may be waived.
	Check string
	// Reason says what is wrong, in one sentence without a full stop.
	Reason string
	// Hint is what to type or do next.
	Hint string
	// Unknown: what the request names does not exist.
	Unknown bool
}

func (r *Refusal) Error() string { return r.Reason }

// Unwrap makes errors.Is(err, ErrRefused) true.
func (r *Refusal) Unwrap() error { return ErrRefused }
