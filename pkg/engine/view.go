package engine

import (
	"fmt"
	"time"
)

// Role is what a member is at this moment, in its engine's own words.
type Role string

// The roles known to all. An engine may use others; ops compares only with these.
const (
	RoleUnknown  Role = "unknown"
	RoleLeader   Role = "leader"
	RoleFollower Role = "follower"
	RoleLearner  Role = "learner"
	RolePrimary  Role = "primary"
	RoleReplica  Role = "replica"
)

// Leads reports whether the role is the one that orders writes.
func (r Role) Leads() bool { return r == RoleLeader || r == RolePrimary }

// Position says how far a member's history reaches: a revision and raft index,
// an LSN on a timeline, a GTID set, an offset of a replication ID. It is
// opaque here; Rules.Compare reads it.
type Position string

// Gap names the two positions of one cluster that a lag is between.
type Gap struct{ Leader, Member Position }

// Distance is how much history lies between two positions.
type Distance struct {
	Amount int64 `json:"amount"`
	// Unit in the plural: "log entries", "bytes".
	Unit string `json:"unit"`
}

func (d Distance) String() string { return fmt.Sprintf("%d %s", d.Amount, d.Unit) }

// Member is what one member says of itself, asked alone. The zero value with a
// Name is a member that was not reached.
type Member struct {
	Name string `json:"name"`
	// Reachable is true if the member answered a request for its own state.
	Reachable bool `json:"reachable"`
	// Problem says why it was not reached, or what it reports to be wrong.
	Problem string `json:"problem,omitempty"`
	// ID is the member's identity inside the database, ClusterID the cluster's.
	ID        string `json:"id,omitempty"`
	ClusterID string `json:"clusterID,omitempty"`
	Role      Role   `json:"role"`
	// Leader is the ID of the member that this one follows, "" for none.
	Leader  string `json:"leader,omitempty"`
	Version string `json:"version,omitempty"`
	// Schema is the version of the data on disk, where the engine has one;
	// Protocol the version that the cluster as a whole speaks.
	Schema   string   `json:"schema,omitempty"`
	Protocol string   `json:"protocol,omitempty"`
	Position Position `json:"position,omitempty"`
	// Serving is true if the member just answered a request that needs the
	// whole cluster's consent (a linearizable read, a write check).
	Serving bool `json:"serving"`
	// Settling says what a member that serves does not do yet, as "does not ... yet"; "" for nothing. It ends by itself,
	// and until then no other member may be stopped.
	Settling string `json:"settling,omitempty"`
	// Bytes: of the data file, of it in use, and the most it may hold (0: no limit).
	DataBytes  int64 `json:"dataBytes,omitempty"`
	UsedBytes  int64 `json:"usedBytes,omitempty"`
	QuotaBytes int64 `json:"quotaBytes,omitempty"`
	// Disk is the file system of the member's volume, also while its server does not run.
	Disk Disk `json:"disk,omitzero"`
	// Alarms are the engine's own alarms on this member, for example "NOSPACE".
	Alarms []string `json:"alarms,omitempty"`
	// Auth says whether the member demands that clients log in: AuthOn, AuthOff,
	// or "" where it did not say.
	Auth string `json:"auth,omitempty"`
	// Pending are settings that the member takes only at its next start.
	Pending []string `json:"pending,omitempty"`
	// Held are settings that the member takes only once the leader has them.
	Held []string `json:"held,omitempty"`
	// Routing is true if the member's agent knows how to lead clients straight to it.
	Routing bool `json:"routing,omitempty"`
	// ArchivedUntil is the time of the last commit that the archive of the log has without a gap, as this member knows;
	// zero if it does not.
	ArchivedUntil time.Time `json:"archivedUntil,omitzero"`
	// ArchivedSince is from when on it knows that nothing is missing there; zero where the database lets no part of its
	// log go that is not archived.
	ArchivedSince time.Time `json:"archivedSince,omitzero"`
	// Overridden are settings that somebody set on this member alone, past those that the members agree on.
	Overridden []string `json:"overridden,omitempty"`
	// Readings are what else the engine tells of it: "connections", "12/100". status shows each as a column.
	Readings []Reading `json:"readings,omitempty"`
	// Details are further ones, which only a wide status shows.
	Details []Reading `json:"details,omitempty"`
	// Warnings are what a person should do something about, while the member serves as it should: each is one sentence
	// without a full stop. status and diagnose tell them.
	Warnings []string `json:"warnings,omitempty"`
	// OnlyHere is what a leader loses when another member takes over, besides data of clients: each is named in a few
	// words.
	OnlyHere []string `json:"onlyHere,omitempty"`
	// Stale says why the member did not tell what is only here; "" if it did. OnlyHere is of before then, or empty.
	Stale string `json:"stale,omitempty"`
	// Closed are databases that let no client in, since another cluster took over.
	Closed []string `json:"closed,omitempty"`
	// Obstacles are what a leader's data is not converted with to another series.
	Obstacles []Obstacle `json:"obstacles,omitempty"`
	// Bases are the full backups since which the member can stream the changes.
	Bases []BaseOf `json:"bases,omitempty"`
	// Certificate is what the member showed when it was dialled; nil in plain
	// text, or if it was not reached at all.
	Certificate *Presented `json:"certificate,omitempty"`
}

// Obstacle is something that a person ends by one of some statements.
type Obstacle struct {
	// What names it in a few words.
	What string `json:"what"`
	// Database is where the statements are carried out; "" is any.
	Database   string   `json:"database,omitempty"`
	Statements []string `json:"statements"`
}

// The values of Member.Auth.
const (
	AuthOn  = "on"
	AuthOff = "off"
)

// Registered is one entry of the database's own member list.
type Registered struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Voter is true if the member counts for a majority.
	Voter bool `json:"voter"`
	// Spare is true for a whole member that has no vote because as many as are
	// useful have one. A member that is neither is still joining.
	Spare bool `json:"spare,omitempty"`
	// Witness is true for a voter that holds no data and never leads.
	Witness bool `json:"witness,omitempty"`
	// Started is false while the entry waits for its process to come up for the first time.
	Started bool `json:"started"`
	// Address is the peer address as registered.
	Address string `json:"address,omitempty"`
}

// View is what the database says of itself. Disagreement is data: nothing
// here is an error.
type View struct {
	// Members holds one entry for every member that was asked, reached or not.
	Members []Member `json:"members"`
	// MemberList is the member list that a majority has; empty unless Quorum.
	MemberList []Registered `json:"memberList,omitempty"`
	// Retired are names that no member can have again, of members that were removed.
	Retired []string `json:"retired,omitempty"`
	// Quorum is true if the cluster answered a request that needs a majority.
	Quorum bool `json:"quorum"`
	// ClusterIDs are the distinct identities seen; more than one is a split.
	ClusterIDs []string `json:"clusterIDs,omitempty"`
	// Hold is what keeps other members from leading; nil for nothing.
	Hold *Hold `json:"hold,omitempty"`
	// Candidates are the members that a person may have lead while the members themselves wait, what loses least first.
	Candidates []Candidate `json:"candidates,omitempty"`
	// Source is the server outside of the cluster that it copies or follows; nil for none.
	Source *Source `json:"source,omitempty"`
	// Settings are those that the members agreed on; nil where they do not say.
	Settings map[string]string `json:"settings,omitempty"`
	// Alarms are all that stand, also against members that are no more.
	Alarms []Alarm `json:"alarms,omitempty"`
	// Downgrade is the version that a downgrade was announced to which is not
	// over yet, as the leader says; "" for none.
	Downgrade string `json:"downgrade,omitempty"`
	// DowngradeUnknown is true if no leader said whether there is one.
	DowngradeUnknown bool `json:"downgradeUnknown,omitempty"`
}

// Member returns the entry of that name; the zero value, unreachable, if there is none.
func (v View) Member(name string) Member {
	for _, m := range v.Members {
		if m.Name == name {
			return m
		}
	}
	return Member{Name: name, Role: RoleUnknown}
}

// Registered returns the roster's entry of that name.
func (v View) Registered(name string) (Registered, bool) {
	for _, r := range v.MemberList {
		if r.Name == name {
			return r, true
		}
	}
	return Registered{}, false
}

// Leaders returns the members that lead by their own word: first those that
// have the consent of the cluster for it (Serving).
func (v View) Leaders() []Member {
	var serving, others []Member
	for _, m := range v.Members {
		switch {
		case !m.Reachable || !m.Role.Leads():
		case m.Serving:
			serving = append(serving, m)
		default:
			others = append(others, m)
		}
	}
	return append(serving, others...)
}

// Leader returns the member that leads, as far as a reachable member says so of
// itself: of several the one that serves.
func (v View) Leader() (Member, bool) {
	if all := v.Leaders(); len(all) > 0 {
		return all[0], true
	}
	return Member{}, false
}

// Rivals are the members that lead with the consent of the cluster, if there
// are several: whichever is asked accepts writes.
func (v View) Rivals() []string {
	var names []string
	for _, m := range v.Leaders() {
		if m.Serving {
			names = append(names, m.Name)
		}
	}
	if len(names) < 2 {
		return nil
	}
	return names
}

// Auth is what all members that say something of authentication agree on; ""
// if none does or they differ.
func (v View) Auth() string {
	said := ""
	for _, m := range v.Members {
		switch {
		case m.Auth == "" || m.Auth == said:
		case said == "":
			said = m.Auth
		default:
			return ""
		}
	}
	return said
}

// Voters returns the roster's voting entries.
func (v View) Voters() []Registered {
	var out []Registered
	for _, r := range v.MemberList {
		if r.Voter {
			out = append(out, r)
		}
	}
	return out
}

// Joined returns the roster's whole members: those that vote, and the spare ones.
func (v View) Joined() []Registered {
	var out []Registered
	for _, r := range v.MemberList {
		if r.Voter || r.Spare {
			out = append(out, r)
		}
	}
	return out
}

// WithoutJoining leaves out of the roster who is not a whole member yet.
func (v View) WithoutJoining() View {
	v.MemberList = v.Joined()
	return v
}

// Joining returns the roster's entries that are not whole members yet.
func (v View) Joining() []Registered {
	var out []Registered
	for _, r := range v.MemberList {
		if !r.Voter && !r.Spare {
			out = append(out, r)
		}
	}
	return out
}
