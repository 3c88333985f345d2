package protocol

import (
	"slices"
	"time"
)

// Renew prolongs the lease of the primary. Its deadline counts from before it was sent.
type Renew struct {
	Member     MemberID   `json:"member"`
	Generation Generation `json:"generation"`
	// Process is the start number of the primary's agent, Attempt counts its renewals.
	Process uint64 `json:"process"`
	Attempt uint64 `json:"attempt"`
	// Nonce tells the start from another one with the same number.
	Nonce uint64 `json:"nonce,omitempty"`
	// Lease is the duration by which the primary computed its deadline. The leader waits no shorter.
	Lease time.Duration `json:"lease"`
	// Bounded says that the guard has a deadline.
	Bounded  bool     `json:"bounded,omitempty"`
	Position Position `json:"position"`
	// At and Chain are the index and the hash of the document of the primary.
	At    uint64 `json:"at"`
	Chain string `json:"chain"`
}

// Kind names the entry.
func (*Renew) Kind() string { return "renew" }

func (e *Renew) apply(d *Document) error {
	switch {
	case e.Generation != d.Generation || e.Member != d.Primary || (d.Phase != Appointed && d.Phase != Serving):
		return refuse("%s is not the primary of generation %d", e.Member, e.Generation)
	case d.Phase == Serving && e.Process != d.Process:
		return refuse("generation %d belongs to start %d of %s, not to %d", d.Generation, d.Process, e.Member, e.Process)
	case d.Phase == Serving && e.Attempt <= d.Attempt:
		return refuse("renewal %d was agreed before", e.Attempt)
	}
	d.Phase, d.Process, d.Attempt, d.Lease, d.Bounded = Serving, e.Process, e.Attempt, e.Lease, e.Bounded
	d.LeaseNumber++
	if e.Position.Compare(d.Published) > 0 {
		d.Published = e.Position
	}
	return nil
}

// Release ends a lease early. The primary proposes it once every process of its server was reaped.
type Release struct {
	Member     MemberID   `json:"member"`
	Generation Generation `json:"generation"`
	Process    uint64     `json:"process"`
	// End is where the log of a primary that stopped in order ends, and is zero where that is not known.
	End Position `json:"end,omitzero"`
}

// Kind names the entry.
func (*Release) Kind() string { return "release" }

func (e *Release) apply(d *Document) error {
	switch {
	case e.Generation != d.Generation || e.Member != d.Primary || (d.Phase != Appointed && d.Phase != Serving):
		return refuse("%s is not the primary of generation %d", e.Member, e.Generation)
	case e.Process < d.Process && d.Phase == Serving:
		return refuse("start %d of %s serves, not %d", d.Process, e.Member, e.Process)
	}
	if d.Phase == Appointed {
		d.dropUnusedSet()
	} else if e.End.Compare(d.Published) > 0 {
		d.Published = e.End
	}
	d.Phase = Released
	return nil
}

// Seal ends the generation before it: no renewal of that is agreed any more.
type Seal struct {
	Generation Generation `json:"generation"`
	// LeaseNumber is the last lease that the leader knew of: a renewal that was agreed in the meantime makes the seal
	// void.
	LeaseNumber uint64 `json:"leaseNumber"`
}

// Kind names the entry.
func (*Seal) Kind() string { return "seal" }

func (e *Seal) apply(d *Document) error {
	switch {
	case e.Generation != d.Generation+1 || d.System == "" || d.Phase == Sealed:
		return refuse("generation %d does not follow generation %d in phase %q", e.Generation, d.Generation, d.Phase)
	case e.LeaseNumber != d.LeaseNumber:
		return refuse("the lease was renewed: its number is %d, not %d", d.LeaseNumber, e.LeaseNumber)
	}
	if d.Phase == Appointed {
		d.dropUnusedSet()
	}
	d.Generation, d.Phase, d.Reports, d.Bounded = e.Generation, Sealed, nil, false
	return nil
}

// dropUnusedSet forgets the set of an appointment that no renewal followed: nothing was acknowledged under it.
func (d *Document) dropUnusedSet() {
	if len(d.InForce) > 0 {
		d.InForce = d.InForce[:len(d.InForce)-1]
	}
}

// Reported tells what a member holds, after it cut its upstream for good.
type Reported struct {
	Member     MemberID   `json:"member"`
	Generation Generation `json:"generation"`
	Report
}

// Kind names the entry.
func (*Reported) Kind() string { return "report" }

func (e *Reported) apply(d *Document) error {
	m, known := d.Members[e.Member]
	switch {
	case e.Generation != d.Generation || d.Phase != Sealed:
		return refuse("generation %d takes no reports in phase %q", d.Generation, d.Phase)
	case !known || m.Witness || e.Volume == "" || e.Volume != m.Volume:
		return refuse("the group does not know the copy %q of %s", e.Volume, e.Member)
	case d.Reports[e.Member] == e.Report:
		return refuse("the report of %s is known", e.Member)
	}
	if d.Reports == nil {
		d.Reports = map[MemberID]Report{}
	}
	d.Reports[e.Member] = e.Report
	return nil
}

// Appoint makes a member the primary of the sealed generation.
type Appoint struct {
	Member     MemberID   `json:"member"`
	Generation Generation `json:"generation"`
	Timeline   uint64     `json:"timeline"`
	Set        SyncSet    `json:"set"`
	// Forced takes a member that the rules don't, by request of a person who was told what is lost.
	Forced bool `json:"forced,omitempty"`
}

// Kind names the entry.
func (*Appoint) Kind() string { return "appoint" }

func (e *Appoint) apply(d *Document) error {
	if e.Generation != d.Generation || d.Phase != Sealed {
		return refuse("generation %d is not sealed", e.Generation)
	}
	report, reported := d.Reports[e.Member]
	if !reported || e.Timeline <= d.Timeline || e.Set.Version <= d.Sets {
		return refuse("%s did not report, or timeline %d or set %d was used before", e.Member, e.Timeline, e.Set.Version)
	}
	if e.Forced {
		d.InForce = nil
	} else if best, why := Choose(d); best != e.Member {
		return refuse("%s may not be the primary: %s is the choice; %s", e.Member, best, why)
	}
	d.Phase, d.Primary, d.Timeline, d.Intent = Appointed, e.Member, e.Timeline, nil
	d.Published = report.Position
	d.LeaseNumber++
	d.Lease = d.Settings.Timing.Lease
	d.Sets, d.InForce = e.Set.Version, append(slices.Clone(d.InForce), e.Set)
	return nil
}

// PlanSwitchover announces that the primary shall be another member. An empty target takes it back.
type PlanSwitchover struct {
	Generation Generation `json:"generation"`
	Intent
}

// Kind names the entry.
func (*PlanSwitchover) Kind() string { return "planSwitchover" }

func (e *PlanSwitchover) apply(d *Document) error {
	if e.Generation != d.Generation || d.Phase != Serving {
		return refuse("generation %d has no primary that serves", e.Generation)
	}
	if e.Target == "" {
		d.Intent = nil
		return nil
	}
	if err := FitTarget(d, e.Target); err != nil {
		return err
	}
	d.Intent = &e.Intent
	return nil
}
