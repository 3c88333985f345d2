package engine

import (
	"context"
	"fmt"
	"time"
)

// Hold keeps every member but the one that led last from leading.
type Hold struct {
	// For is how long; 0 is until somebody ends it. The members count it, from when they agreed on it, or from when
	// another of them came to lead their group.
	For time.Duration `json:"for,omitempty"`
	// By says who asked for it, and when; Why is their reason.
	By  string `json:"by"`
	Why string `json:"why,omitempty"`
}

// Text says in one sentence without a full stop what holds.
func (h Hold) Text() string {
	text := "until somebody ends it"
	if h.For > 0 {
		text = "for " + h.For.String()
	}
	if text += ", asked for by " + h.By; h.Why != "" {
		text += fmt.Sprintf(", because %q", h.Why)
	}
	return text
}

// Holder is what a Session also is if its engine has Capabilities.Failover.
type Holder interface {
	// Hold puts this in the place of a hold that there is. A repeat begins its time again. After an error there may be
	// none.
	Hold(ctx context.Context, h Hold) error
	// EndHold ends it. A repeat has no effect.
	EndHold(ctx context.Context) error
}
