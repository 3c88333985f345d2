package protocol

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
