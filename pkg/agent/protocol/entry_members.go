package protocol

import "slices"

// AddMember adds a member without a vote.
type AddMember struct {
	Member  MemberID `json:"member"`
	Witness bool     `json:"witness,omitempty"`
}

// Kind names the entry.
func (*AddMember) Kind() string { return "addMember" }

func (e *AddMember) apply(d *Document) error {
	if _, known := d.Members[e.Member]; known || e.Member == "" || slices.Contains(d.Removed, e.Member) {
		return refuse("the name %q is in use or was used before", e.Member)
	}
	d.Members[e.Member] = Member{Witness: e.Witness}
	return nil
}

// OfferVote announces the next vote, so that a primary that was the sole voter gives its guard a deadline first. An
// empty member takes the offer back.
type OfferVote struct {
	Member MemberID `json:"member"`
}

// Kind names the entry.
func (*OfferVote) Kind() string { return "offerVote" }

func (e *OfferVote) apply(d *Document) error {
	if d.OfferedVote == e.Member {
		return refuse("the vote is offered to %q", e.Member)
	}
	if m, known := d.Members[e.Member]; e.Member != "" && (!known || m.Start == 0 ||
		slices.Contains(d.Voters, e.Member)) {
		return refuse("%s votes, or did not join yet", e.Member)
	}
	d.OfferedVote = e.Member
	return nil
}

// Configured is written by the group itself: who votes.
type Configured struct {
	Voters []MemberID `json:"voters"`
}

// Kind names the entry.
func (*Configured) Kind() string { return "configured" }

func (e *Configured) apply(d *Document) error {
	if slices.Equal(d.Voters, e.Voters) {
		return refuse("the voters are known")
	}
	d.Voters = slices.Sorted(slices.Values(e.Voters))
	if slices.Contains(d.Voters, d.OfferedVote) {
		d.OfferedVote = ""
	}
	return nil
}

// Leave begins the removal of a member.
type Leave struct {
	Member MemberID `json:"member"`
}

// Kind names the entry.
func (*Leave) Kind() string { return "leave" }

func (e *Leave) apply(d *Document) error {
	m, known := d.Members[e.Member]
	if !known || m.Leaving {
		return refuse("%s is no member, or leaves", e.Member)
	}
	staying := slices.DeleteFunc(d.Data(), func(id MemberID) bool { return id == e.Member || d.Members[id].Leaving })
	if !m.Witness && len(staying) == 0 {
		return refuse("%s is the last member with data", e.Member)
	}
	m.Leaving = true
	d.Members[e.Member] = m
	return nil
}

// RemoveMember ends the removal of a member that neither leads, nor votes, nor acknowledges.
type RemoveMember struct {
	Member MemberID `json:"member"`
}

// Kind names the entry.
func (*RemoveMember) Kind() string { return "removeMember" }

func (e *RemoveMember) apply(d *Document) error {
	if err := Removable(d, e.Member); err != nil {
		return err
	}
	delete(d.Members, e.Member)
	delete(d.Reports, e.Member)
	d.Removed = append(slices.Clone(d.Removed), e.Member)
	if d.OfferedVote == e.Member {
		d.OfferedVote = ""
	}
	return nil
}

// Removable returns nil if the group can forget a member that leaves, or what keeps it.
func Removable(d *Document, id MemberID) error {
	m, known := d.Members[id]
	switch {
	case !known || !m.Leaving:
		return refuse("%s does not leave", id)
	case d.Primary == id:
		return refuse("%s is the primary, or was the last one: switch over first", id)
	case slices.Contains(d.Voters, id):
		return refuse("%s votes", id)
	}
	for _, set := range d.InForce {
		if set.Primary.Member == id || slices.ContainsFunc(set.Standbys, func(s Standby) bool { return s.Member == id }) {
			return refuse("%s may hold writes that were acknowledged, under set %d", id, set.Version)
		}
	}
	return nil
}
