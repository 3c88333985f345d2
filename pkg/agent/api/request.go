package api

import (
	"errors"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// Switchover asks for another primary. It returns once that serves.
type Switchover struct {
	Target protocol.MemberID `json:"target"`
	Why    string            `json:"why,omitempty"`
}

// Failover appoints a member that the rules don't take. Without Lose it is refused, and the answer says what is lost.
type Failover struct {
	Target protocol.MemberID `json:"target"`
	Lose   bool              `json:"lose"`
}

// Recover has one member begin a new incarnation of the cluster alone, because the group lost its majority for good.
type Recover struct {
	// Token is that of the new incarnation.
	Token string `json:"token"`
	// Dead are the members whose processes provably don't run and never will.
	Dead []protocol.MemberID `json:"dead"`
	// Lose accepts that acknowledged writes may be lost. Without it the answer says what that may be.
	Lose bool `json:"lose"`
}

// NewMember adds a member. Its name was never used before.
type NewMember struct {
	ID      protocol.MemberID `json:"id"`
	Witness bool              `json:"witness,omitempty"`
}

// Hold keeps every member but the last primary from being appointed.
type Hold struct {
	ID string `json:"id"`
	protocol.Hold
}

// Refused says why something is not done. Nothing was changed.
type Refused struct{ Why string }

func (r Refused) Error() string { return r.Why }

// ErrUnknown says that the time ran out before the outcome was seen. The request may have been done, or be done later:
// ask for the status.
var ErrUnknown = errors.New("the outcome is not known")

// problem is the body of an answer that is an error.
type problem struct {
	Refused string `json:"refused,omitempty"`
	Unknown string `json:"unknown,omitempty"`
}

func (p problem) err() error {
	switch {
	case p.Refused != "":
		return Refused{Why: p.Refused}
	case p.Unknown != "":
		return fmt.Errorf("%w: %s", ErrUnknown, p.Unknown)
	}
	return errors.New("the agent failed without a reason")
}
