package protocol

import "slices"

// ChangeSet puts another set in force beside those that are. The primary loads it after that.
type ChangeSet struct {
	Generation Generation `json:"generation"`
	Set        SyncSet    `json:"set"`
}

// Kind names the entry.
func (*ChangeSet) Kind() string { return "changeSet" }

func (e *ChangeSet) apply(d *Document) error {
	if e.Generation != d.Generation || d.Phase != Serving || e.Set.Version <= d.Sets {
		return refuse("generation %d is not served, or set %d was used before", e.Generation, e.Set.Version)
	}
	d.Sets, d.InForce = e.Set.Version, append(slices.Clone(d.InForce), e.Set)
	return nil
}

// SettleSet says that the server of the primary has loaded the last set, and that enough of its standbys hold all that
// was acknowledged before.
type SettleSet struct {
	Generation Generation `json:"generation"`
	Version    uint64     `json:"version"`
}

// Kind names the entry.
func (*SettleSet) Kind() string { return "settleSet" }

func (e *SettleSet) apply(d *Document) error {
	if e.Generation != d.Generation || d.Phase != Serving || d.Set().Version != e.Version || len(d.InForce) == 1 {
		return refuse("set %d is not the last one, or is settled", e.Version)
	}
	d.InForce = slices.Clone(d.InForce[len(d.InForce)-1:])
	return nil
}
