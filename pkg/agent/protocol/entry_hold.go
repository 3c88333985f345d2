package protocol

import "time"

// longestHold bounds a hold that ends by itself.
const longestHold = 30 * 24 * time.Hour

// Hold keeps every member but the last primary from being appointed.
type Hold struct {
	// For is counted by the leader of the group from when it applied the entry. Zero is until it is ended by request.
	For time.Duration `json:"for,omitempty"`
	By  string        `json:"by"`
	Why string        `json:"why,omitempty"`
	// Number counts the holds that took the place of one another under one name.
	Number uint64 `json:"number,omitempty"`
}

// StartHold begins a hold.
type StartHold struct {
	ID string `json:"id"`
	Hold
}

// Kind names the entry.
func (*StartHold) Kind() string { return "startHold" }

func (e *StartHold) apply(d *Document) error {
	if _, held := d.Holds[e.ID]; held || e.ID == "" || e.For < 0 || e.For > longestHold {
		return refuse("hold %q is in force, or lasts longer than 30 days", e.ID)
	}
	if d.Holds == nil {
		d.Holds = map[string]Hold{}
	}
	d.Holds[e.ID] = e.Hold
	return nil
}

// ReplaceHold puts a hold in the place of the one whose number is one lower, so that none is missing in between.
type ReplaceHold struct {
	ID string `json:"id"`
	Hold
}

// Kind names the entry.
func (*ReplaceHold) Kind() string { return "replaceHold" }

func (e *ReplaceHold) apply(d *Document) error {
	before, held := d.Holds[e.ID]
	switch {
	case !held || before.Number+1 != e.Number:
		return refuse("what hold %d of %q follows is not in force", e.Number, e.ID)
	case e.For < 0 || e.For > longestHold:
		return refuse("hold %q lasts longer than 30 days", e.ID)
	}
	d.Holds[e.ID] = e.Hold
	return nil
}

// EndHold ends a hold by request.
type EndHold struct {
	ID string `json:"id"`
}

// Kind names the entry.
func (*EndHold) Kind() string { return "endHold" }

func (e *EndHold) apply(d *Document) error {
	if _, held := d.Holds[e.ID]; !held {
		return refuse("hold %q is not in force", e.ID)
	}
	delete(d.Holds, e.ID)
	return nil
}

// ExpireHold ends a hold whose time is over. It names the number: the one that took its place goes on.
type ExpireHold struct {
	ID     string `json:"id"`
	Number uint64 `json:"number,omitempty"`
}

// Kind names the entry.
func (*ExpireHold) Kind() string { return "expireHold" }

func (e *ExpireHold) apply(d *Document) error {
	if h, held := d.Holds[e.ID]; !held || h.Number != e.Number {
		return refuse("hold %q with number %d is not in force", e.ID, e.Number)
	}
	delete(d.Holds, e.ID)
	return nil
}

// expire returns what ends a hold whose time is over: in a group with an older member, in which none is ever replaced,
// what that member can apply.
func (d *Document) expire(id string) Entry {
	e := &ExpireHold{ID: id, Number: d.Holds[id].Number}
	if LevelOf(e.Kind()) > d.Level() {
		return &EndHold{ID: id}
	}
	return e
}

// BeginHold returns the entry that begins a hold: the one that is in force under its name goes on until then. In a
// group with a member that can't apply that, it is to be ended first.
func (d *Document) BeginHold(id string, h Hold) Entry {
	if _, held := d.Holds[id]; held && d.ReplacesHolds() {
		return &ReplaceHold{ID: id, Hold: h}
	}
	return &StartHold{ID: id, Hold: h}
}

// ReplacesHolds says whether all members know how one hold takes the place of another.
func (d *Document) ReplacesHolds() bool { return LevelOf((*ReplaceHold)(nil).Kind()) <= d.Level() }

// beginsHold says which hold an entry begins.
func beginsHold(e Entry) (id string, yes bool) {
	switch e := e.(type) {
	case *StartHold:
		return e.ID, true
	case *ReplaceHold:
		return e.ID, true
	}
	return "", false
}
