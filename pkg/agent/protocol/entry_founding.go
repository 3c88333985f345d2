package protocol

import "slices"

// InitialMember is one of the first members.
type InitialMember struct {
	ID      MemberID `json:"id"`
	Witness bool     `json:"witness,omitempty"`
}

// Found is the first entry of a group. All first members propose the same.
type Found struct {
	Token          string          `json:"token"`
	InitialMembers []InitialMember `json:"initialMembers"`
	Settings       Settings        `json:"settings"`
	// Source is what the first data comes from, if it is no empty database.
	Source *Source `json:"source,omitempty"`
}

// Kind names the entry.
func (*Found) Kind() string { return "found" }

func (e *Found) apply(d *Document) error {
	if d.Token != "" {
		return refuse("the group was founded with token %s", d.Token)
	}
	if err := e.Settings.Check(); err != nil {
		return refuse("%v", err)
	}
	d.Token, d.Settings, d.Source = e.Token, e.Settings, e.Source
	d.Members = map[MemberID]Member{}
	for _, f := range e.InitialMembers {
		d.Members[f.ID] = Member{Witness: f.Witness}
	}
	return nil
}

// Joined tells the group of a start of a member's agent.
type Joined struct {
	Member MemberID `json:"member"`
	Start  uint64   `json:"start"`
	Level  int      `json:"level"`
}

// Kind names the entry.
func (*Joined) Kind() string { return "joined" }

func (e *Joined) apply(d *Document) error {
	m, known := d.Members[e.Member]
	if !known || e.Start <= m.Start {
		return refuse("start %d of %s is not above %d", e.Start, e.Member, m.Start)
	}
	m.Start, m.Level = e.Start, e.Level
	d.Members[e.Member] = m
	return nil
}

// GrantInit allows one member to make the database. It needs the word of every first member that it is there: an
// emptied majority can't found a second database beside the one that an absent member holds.
type GrantInit struct {
	Member MemberID `json:"member"`
	Number uint64   `json:"number"`
}

// Kind names the entry.
func (*GrantInit) Kind() string { return "grantInit" }

func (e *GrantInit) apply(d *Document) error {
	if d.System != "" || d.Grant != "" || e.Number != d.Granted+1 {
		return refuse("the database %q exists, or %q may make it", d.System, d.Grant)
	}
	if m, known := d.Members[e.Member]; !known || m.Witness {
		return refuse("%s holds no data", e.Member)
	}
	for id, m := range d.Members {
		if m.Start == 0 {
			return refuse("%s has not joined yet", id)
		}
	}
	d.Grant, d.Granted = e.Member, e.Number
	return nil
}

// RevokeInit takes a grant back that was not followed by Initialised. It comes on request only.
type RevokeInit struct {
	Number uint64 `json:"number"`
}

// Kind names the entry.
func (*RevokeInit) Kind() string { return "revokeInit" }

func (e *RevokeInit) apply(d *Document) error {
	if d.System != "" || d.Grant == "" || e.Number != d.Granted {
		return refuse("grant %d is not open", e.Number)
	}
	d.Grant = ""
	return nil
}

// Initialised names the database that the granted member made.
type Initialised struct {
	Member MemberID `json:"member"`
	Number uint64   `json:"number"`
	System string   `json:"system"`
	Volume string   `json:"volume"`
}

// Kind names the entry.
func (*Initialised) Kind() string { return "initialised" }

func (e *Initialised) apply(d *Document) error {
	if d.System != "" || d.Grant != e.Member || e.Number != d.Granted {
		return refuse("%s has no open grant %d", e.Member, e.Number)
	}
	m := d.Members[e.Member]
	m.Volume = e.Volume
	d.Members[e.Member] = m
	d.System, d.Primary = e.System, e.Member
	return nil
}

// Cloned names a copy of the data that a member has made again, once it is whole.
type Cloned struct {
	Member MemberID `json:"member"`
	Volume string   `json:"volume"`
}

// Kind names the entry.
func (*Cloned) Kind() string { return "cloned" }

func (e *Cloned) apply(d *Document) error {
	return d.clone(e.Member, Member{Volume: e.Volume})
}

// clone notes another copy of a member, and forgets what is known of the one before it.
func (d *Document) clone(id MemberID, made Member) error {
	m, known := d.Members[id]
	switch {
	case !known || m.Witness || d.System == "":
		return refuse("%s holds no data", id)
	case m.Volume == made.Volume:
		return refuse("the copy of %s is known", id)
	case d.Primary == id && (d.Phase == Appointed || d.Phase == Serving):
		return refuse("%s is the primary", id)
	}
	m.Volume, m.CopiedIn, m.Replaced = made.Volume, made.CopiedIn, made.Replaced
	d.Members[id] = m
	delete(d.Reports, id)
	return nil
}

// Copied names a copy of the data as Cloned does, that was made from the primary of a generation.
type Copied struct {
	Member     MemberID   `json:"member"`
	Volume     string     `json:"volume"`
	Generation Generation `json:"generation"`
}

// Kind names the entry.
func (*Copied) Kind() string { return "copied" }

func (e *Copied) apply(d *Document) error {
	m, made := d.Members[e.Member], Member{Volume: e.Volume, CopiedIn: e.Generation}
	if m.CopiedIn == e.Generation {
		made.Replaced = slices.Clone(m.Replaced)
	}
	if m.Volume != "" {
		made.Replaced = append(made.Replaced, m.Volume)
	}
	if e.Generation > d.Generation || slices.Contains(made.Replaced, e.Volume) {
		made = Member{Volume: e.Volume} // the copy came back: it lacks what those after it held
	}
	return d.clone(e.Member, made)
}

// EndIncarnation ends the group for good, for the incarnation with the token of its successor.
type EndIncarnation struct {
	Successor string `json:"successor"`
}

// Kind names the entry.
func (*EndIncarnation) Kind() string { return "endIncarnation" }

func (e *EndIncarnation) apply(d *Document) error {
	if e.Successor == "" || e.Successor == d.Token {
		return refuse("a successor needs a token of its own")
	}
	d.Successor = e.Successor
	return nil
}

// Recovered returns the document with which a new incarnation begins at one member that survived. Its document may be
// older than the last primary, whose lease may still run. So it serves for nobody, and the new leader seals it a whole
// lease after its own start.
func (d *Document) Recovered(token string, survivor MemberID) Document {
	recovered := *d
	recovered.Token, recovered.Successor = token, ""
	recovered.Members = map[MemberID]Member{survivor: d.Members[survivor]}
	for id := range d.Members {
		if id != survivor {
			recovered.Removed = append(slices.Clone(recovered.Removed), id)
		}
	}
	slices.Sort(recovered.Removed)
	recovered.Voters, recovered.OfferedVote = []MemberID{survivor}, ""
	recovered.Reports, recovered.Intent, recovered.Holds = nil, nil, nil
	recovered.InForce = nil // who asks for a recovery was told what may be lost
	recovered.Phase, recovered.Primary, recovered.Lease = Serving, "", d.Settings.Timing.Lease
	return recovered
}
