package ops

import (
	"errors"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// Kind is what an error means for the driver: the exit code of the command
// line, the requeue of the reconciler.
type Kind string

// The kinds.
const (
	// Refused by a safety check; nothing was changed by this request.
	Refused Kind = "Refused"
	// NotYet: wait and observe again.
	NotYet Kind = "NotYet"
	// Failed: attempted, did not work; a repeat may.
	Failed Kind = "Failed"
	// NeedsHuman: going on needs a person's decision or repair.
	NeedsHuman Kind = "NeedsHuman"
	// TimedOut: the deadline of the step or of the caller passed.
	TimedOut Kind = "TimedOut"
	// Busy: somebody else is acting on the cluster.
	Busy Kind = "Busy"
	// Interrupted by the person, at a safe point.
	Interrupted Kind = "Interrupted"
	// Unchanged: everything is as requested already.
	Unchanged Kind = "Unchanged"
)

// CheckCancelled marks the end of a command whose operation somebody else cancelled.
const CheckCancelled = "cancelled"

// Error carries what was attempted, why it did not go and what to type next. A plan shows it as JSON, without Err.
type Error struct {
	Kind Kind `json:"kind"`
	// Check names the safety check of a refusal; --force=CHECK waives it where it may be.
	Check string `json:"check,omitempty"`
	// Message is one sentence, lower case, without a full stop.
	Message string `json:"message"`
	// Hint is the next command or deed.
	Hint string `json:"hint,omitempty"`
	// Unknown: what the request names does not exist.
	Unknown bool  `json:"unknown,omitempty"`
	Err     error `json:"-"`
}

func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %v", e.Message, e.Err)
	}
	return e.Message
}

func (e *Error) Unwrap() error { return e.Err }

// OutOfTime is the end of the time that the caller allowed: what it cut off, if anything, and what to type next.
func OutOfTime(cut error, hint string) *Error {
	return &Error{Kind: TimedOut, Message: "the time allowed by --timeout is over", Hint: hint, Err: cut}
}

// KindOf returns the kind of the first Error in the chain; Failed for any other error.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	if errors.Is(err, engine.ErrNotReady) {
		return NotYet
	}
	if errors.Is(err, engine.ErrRefused) {
		return Refused
	}
	return Failed
}

// permanent lists the failures of a repository that no repeat mends.
func permanent(err error) bool {
	return errors.Is(err, repository.ErrNotFound) || errors.Is(err, repository.ErrExists) ||
		errors.Is(err, repository.ErrDamaged) || errors.Is(err, repository.ErrNoSpace)
}

// AsError is the first Error in a chain, or the refusal of an engine as one: nowhere else the one becomes the other.
func AsError(err error) (*Error, bool) {
	if e, ok := errors.AsType[*Error](err); ok {
		return e, true
	}
	if r, ok := errors.AsType[*engine.Refusal](err); ok {
		return &Error{Kind: Refused, Check: r.Check, Message: r.Reason, Hint: r.Hint, Unknown: r.Unknown}, true
	}
	return nil, false
}

// Refusal returns an error as that of a refused request.
func Refusal(err error) *Error {
	if e, ok := AsError(err); ok {
		return e
	}
	return &Error{Kind: Refused, Message: err.Error()}
}

// IgnoreNotFound is nil for the error that an object does not exist, and else the error.
func IgnoreNotFound(err error) error {
	if errors.Is(err, kube.ErrNotFound) {
		return nil
	}
	return err
}

// NoRecord reports whether an error says that a record is missing or damaged: a
// repair writes it again.
func NoRecord(err error) bool {
	return errors.Is(err, kube.ErrNotFound) || errors.Is(err, store.ErrDamaged)
}
