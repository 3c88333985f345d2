package protocol

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// MemberID names a member in its group. It is never used again once the member was removed.
type MemberID string

// Generation counts the primaries of a cluster. A seal begins the next one.
type Generation uint64

// Position says how much of the database a member holds.
type Position struct {
	// Timeline is the history that the offset belongs to. A later promotion has a higher one.
	Timeline uint64 `json:"timeline"`
	// Offset counts bytes of the log.
	Offset uint64 `json:"offset"`
}

// Compare orders positions: the timeline comes before the offset.
func (p Position) Compare(q Position) int {
	return cmp.Or(cmp.Compare(p.Timeline, q.Timeline), cmp.Compare(p.Offset, q.Offset))
}

func (p Position) String() string { return fmt.Sprintf("%d/%d", p.Timeline, p.Offset) }

// Phase says how far the generation of the document has come.
type Phase string

const (
	// Founding is before the database exists.
	Founding Phase = ""
	// Sealed waits for reports and an appointment.
	Sealed Phase = "sealed"
	// Appointed has a primary that has not renewed its lease yet.
	Appointed Phase = "appointed"
	// Serving has a primary that renewed its lease.
	Serving Phase = "serving"
	// Released had a primary; every process of its server has ended.
	Released Phase = "released"
)

// Member is what the group knows of a member.
type Member struct {
	// Witness votes and holds no data.
	Witness bool `json:"witness,omitempty"`
	// Leaving is set by a request to remove the member: it gets no task any more.
	Leaving bool `json:"leaving,omitempty"`
	// Start is the number of its agent's last start; 0 before it was heard of. A member that was heard of has the log.
	Start uint64 `json:"start,omitempty"`
	// Level is the highest level of entries that it can apply.
	Level int `json:"level,omitempty"`
	// Volume identifies its copy of the data. A copy that was made again has another one.
	Volume string `json:"volume,omitempty"`
	// CopiedIn is the generation whose primary this copy was made from, or 0. Replaced are the copies of this member
	// that it came after, as far as they were given up in that generation.
	CopiedIn Generation `json:"copiedIn,omitempty"`
	Replaced []string   `json:"replaced,omitempty"`
}

// Standby is one copy of the data that may acknowledge writes.
type Standby struct {
	Member MemberID `json:"member"`
	Volume string   `json:"volume"`
}

// SyncSet says whose acknowledgements a primary waits for before it acknowledges a write.
type SyncSet struct {
	// Version is never used twice.
	Version uint64 `json:"version"`
	// Primary is the copy that takes the writes: it holds all that it acknowledged.
	Primary Standby `json:"primary"`
	// Standbys may acknowledge.
	Standbys []Standby `json:"standbys,omitempty"`
	// Need is how many of them must. If it is above the number of standbys, nothing is acknowledged.
	Need int `json:"need"`
}

// Report is what a member holds after it cut its upstream for a generation.
type Report struct {
	Volume   string   `json:"volume"`
	Position Position `json:"position"`
}

// Intent is a planned change of the primary.
type Intent struct {
	Target MemberID `json:"target"`
	Why    string   `json:"why,omitempty"`
}

// Durability says what an acknowledged write has reached.
type Durability string

const (
	// Strict never acknowledges a write that fewer than Acknowledge standbys hold.
	Strict Durability = "strict"
	// Preferred does the same while standbys stream, and goes on alone without them.
	Preferred Durability = "preferred"
	// Async waits for no standby.
	Async Durability = "async"
)

// Document is what the group agreed on, and the only truth about the cluster. All members hold the same after the same
// entries.
type Document struct {
	// Index is that of the last entry. Chain is a hash over all entries.
	Index uint64 `json:"index"`
	Chain string `json:"chain,omitempty"`
	// Token identifies the incarnation. Successor is the token of the incarnation that ended this one.
	Token     string `json:"token,omitempty"`
	Successor string `json:"successor,omitempty"`
	// System is the identifier of the database, Grant who may make it.
	System  string   `json:"system,omitempty"`
	Grant   MemberID `json:"grant,omitempty"`
	Granted uint64   `json:"granted,omitempty"`

	Members map[MemberID]Member `json:"members,omitempty"`
	Removed []MemberID          `json:"removed,omitempty"`
	// Voters are in order. OfferedVote is who shall get the next vote.
	Voters      []MemberID `json:"voters,omitempty"`
	OfferedVote MemberID   `json:"offeredVote,omitempty"`

	Generation Generation `json:"generation"`
	Phase      Phase      `json:"phase,omitempty"`
	// Primary is that of the generation, or of the one before it while it is sealed.
	Primary MemberID `json:"primary,omitempty"`
	// LeaseNumber counts appointments and renewals: a seal names the last one that it knows of.
	LeaseNumber uint64 `json:"leaseNumber,omitempty"`
	// Lease is the duration that the last renewal stated.
	Lease time.Duration `json:"lease,omitempty"`
	// Process and Attempt are the start of the primary's agent and the number of its last renewal.
	Process uint64 `json:"process,omitempty"`
	Attempt uint64 `json:"attempt,omitempty"`
	// Bounded says that the last renewal gave the guard a deadline. A sole voter needs none.
	Bounded bool `json:"bounded,omitempty"`
	// Published is the last position that a primary published, with a renewal or with the release of its lease after a
	// stop in order, Timeline the highest that was ever given away.
	Published Position `json:"published"`
	Timeline  uint64   `json:"timeline,omitempty"`

	Reports map[MemberID]Report `json:"reports,omitempty"`
	// InForce are the sets under which writes may have been acknowledged that are not yet known to be on enough
	// standbys of the last one.
	InForce []SyncSet `json:"inForce,omitempty"`
	Sets    uint64    `json:"sets,omitempty"`

	Intent   *Intent         `json:"intent,omitempty"`
	Holds    map[string]Hold `json:"holds,omitempty"`
	Settings Settings        `json:"settings"`
	// Source is followed until EndSource. It is given when the group is founded, or by BeginSource.
	Source *Source `json:"source,omitempty"`
}

// Apply changes the document by an agreed entry, and returns why the entry has no effect, or nil. Every member comes to
// the same result. An entry that comes twice changes nothing the second time.
func (d *Document) Apply(index uint64, e Entry) error {
	d.Index = index
	switch e.(type) {
	case *Found, *Configured:
	default:
		if d.Token == "" {
			return refuse("the group is not founded")
		}
	}
	if d.Successor != "" {
		return refuse("the incarnation has ended")
	}
	if err := e.apply(d); err != nil {
		return err
	}
	d.Chain = chain(d.Chain, e)
	return nil
}

func chain(before string, e Entry) string {
	sum := sha256.Sum256(append([]byte(before), Encode(e)...))
	return hex.EncodeToString(sum[:8])
}

// Level returns the highest level of entries that every member can apply.
func (d *Document) Level() int {
	level := highestLevel
	for _, m := range d.Members {
		if m.Start > 0 {
			level = min(level, m.Level)
		}
	}
	return level
}

// Set returns the set that the primary waits for.
func (d *Document) Set() SyncSet {
	if len(d.InForce) == 0 {
		return SyncSet{}
	}
	return d.InForce[len(d.InForce)-1]
}

// Data returns the members that may hold data, in order.
func (d *Document) Data() []MemberID {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(d.Members)), func(m MemberID) bool { return d.Members[m].Witness })
}

// leaving are the members that leave.
func (d *Document) leaving() (ids []MemberID) {
	for id, m := range d.Members {
		if m.Leaving {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// SoleVoter says that nobody but the primary votes, or was offered a vote: nobody else can agree on a seal.
func (d *Document) SoleVoter() bool {
	return len(d.Voters) == 1 && d.Voters[0] == d.Primary && d.OfferedVote == ""
}

// served is the generation of the last primary.
func (d *Document) served() Generation {
	if d.Phase == Sealed {
		return d.Generation - 1
	}
	return d.Generation
}

func (d *Document) standby(m MemberID) Standby {
	return Standby{Member: m, Volume: d.Members[m].Volume}
}

// Try returns why an entry would have no effect, or nil.
func (d *Document) Try(e Entry) error {
	raw, err := d.MarshalSnapshot()
	var copied Document
	if err == nil {
		err = copied.UnmarshalSnapshot(raw)
	}
	if err == nil {
		err = copied.Apply(d.Index+1, e)
	}
	return err
}

// MarshalSnapshot writes the document for a snapshot of the group's log. UnmarshalSnapshot reads it.
func (d *Document) MarshalSnapshot() ([]byte, error) { return json.Marshal(d) }

// UnmarshalSnapshot replaces the document by one that MarshalSnapshot wrote.
func (d *Document) UnmarshalSnapshot(raw []byte) error {
	var read Document
	if err := json.Unmarshal(raw, &read); err != nil {
		return fmt.Errorf("read a snapshot of the group's document: %w", err)
	}
	*d = read
	return nil
}
