package protocol

import (
	"fmt"
	"time"
)

// Settings are what people set. A change carries the version that it replaces.
type Settings struct {
	Version    uint64     `json:"version"`
	Timing     Timing     `json:"timing"`
	Durability Durability `json:"durability"`
	// Acknowledge is how many standbys must hold a write; at least 1 unless the durability is async.
	Acknowledge int `json:"acknowledge,omitempty"`
	// MaxLag is how many bytes of the log a member may lack, of what the last primary published, to be appointed
	// where no standby had to acknowledge.
	MaxLag uint64 `json:"maxLag"`
	// ReadonlyLag is how old data may be that a replica serves while another member has newer: 0 stands for
	// DefaultReadonlyLag, NoReadonlyLag for no bound.
	ReadonlyLag time.Duration `json:"readonlyLag,omitempty"`
	// Values are settings of the server, and Order is the order in which members apply their change.
	Values map[string]string `json:"values,omitempty"`
	Order  []MemberID        `json:"order,omitempty"`
}

// Check returns an error that names what the settings break, or nil.
func (s Settings) Check() error {
	if err := s.Timing.Check(); err != nil {
		return err
	}
	switch {
	case s.Durability != Strict && s.Durability != Preferred && s.Durability != Async:
		return fmt.Errorf("check the settings: durability is %q: choose strict, preferred or async", s.Durability)
	case s.Durability != Async && s.Acknowledge < 1:
		return fmt.Errorf("check the settings: acknowledge is %d; durability %s asks for at least 1", s.Acknowledge,
			s.Durability)
	}
	return nil
}

const (
	// DefaultReadonlyLag is how old data a replica may serve where nobody set another bound.
	DefaultReadonlyLag = 30 * time.Second
	// NoReadonlyLag stands for no bound.
	NoReadonlyLag time.Duration = -1
)

// tooOld says whether data of an age is served only while there is no newer.
func (s Settings) tooOld(age time.Duration) bool {
	bound := s.ReadonlyLag
	if bound == 0 {
		bound = DefaultReadonlyLag
	}
	return bound > 0 && age > bound
}

// Level is the level of entries from which on a member can apply these settings: an older one drops what it does not
// know, and then holds another document than the others.
func (s Settings) Level() int {
	if s.ReadonlyLag != 0 {
		return 6
	}
	return 1
}
