package engine

import (
	"context"
	"time"
)

// Presented is what a member shows to a client that shakes hands with it.
type Presented struct {
	// Fingerprint is the SHA-256 of the certificate that it serves, NotAfter
	// when that runs out.
	Fingerprint string    `json:"fingerprint"`
	NotAfter    time.Time `json:"notAfter"`
	// Accepts are the subjects of the authorities whose certificates the
	// running process takes from clients, in the order of the alphabet; one
	// subject is there as often as there are authorities of that name.
	Accepts []string `json:"accepts,omitempty"`
}

// Presenter is what a Session also is if its members serve certificates.
type Presenter interface {
	// Present shakes hands with a member again and says what it showed, whether
	// that is still valid or not. Nothing is trusted, and nothing is sent.
	Present(ctx context.Context, member string) (Presented, error)
}
