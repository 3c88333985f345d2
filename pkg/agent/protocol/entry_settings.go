package protocol

import "time"

// Configure replaces the settings whose version is one lower.
type Configure struct {
	Settings Settings `json:"settings"`
}

// Kind names the entry.
func (*Configure) Kind() string { return "configure" }

func (e *Configure) apply(d *Document) error {
	if e.Settings.Version != d.Settings.Version+1 {
		return refuse("settings %d do not follow settings %d", e.Settings.Version, d.Settings.Version)
	}
	if err := e.Settings.Check(); err != nil {
		return refuse("%v", err)
	}
	d.Settings = e.Settings
	return nil
}

// StartHold begins a hold.
type StartHold struct {
	ID string `json:"id"`
	Hold
}

// Kind names the entry.
func (*StartHold) Kind() string { return "startHold" }

func (e *StartHold) apply(d *Document) error {
	if _, held := d.Holds[e.ID]; held || e.ID == "" || e.For < 0 || e.For > 30*24*time.Hour {
		return refuse("hold %q is in force, or lasts longer than 30 days", e.ID)
	}
	if d.Holds == nil {
		d.Holds = map[string]Hold{}
	}
	d.Holds[e.ID] = e.Hold
	return nil
}

// EndHold ends a hold, by request or because its time is over.
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
