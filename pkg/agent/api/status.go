package api

import (
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// Status is what one member says: of itself, and of the cluster as it knows it.
type Status struct {
	// Member answers. Start is the number of its agent's start.
	Member protocol.MemberID `json:"member"`
	Start  uint64            `json:"start"`
	// Token identifies the incarnation, System the database. Both are empty before there is one.
	Token  string `json:"token,omitempty"`
	System string `json:"system,omitempty"`
	// Version is the release of its server, "" of a witness.
	Version string `json:"version,omitempty"`
	// Routing says that this program knows how to lead clients straight to the primary. Older ones don't start when they
	// are told to.
	Routing bool `json:"routing,omitempty"`
	// ReplacesHolds says that all members know how one hold takes the place of another.
	ReplacesHolds bool `json:"replacesHolds,omitempty"`
	// Server is what the member observes of its own server.
	Server Server `json:"server"`
	// Quorum says that the group has a leader that this member hears; Leader is its name.
	Quorum bool              `json:"quorum"`
	Leader protocol.MemberID `json:"leader,omitempty"`
	// Generation counts primaries. Phase says how far the present one has come, Primary who it is, or was.
	Generation protocol.Generation `json:"generation"`
	Phase      protocol.Phase      `json:"phase,omitempty"`
	Primary    protocol.MemberID   `json:"primary,omitempty"`
	// Published is the last position that a primary published.
	Published protocol.Position `json:"published"`
	// Blocked says why there is no primary, or why this member takes no part.
	Blocked string   `json:"blocked,omitempty"`
	Members []Member `json:"members"`
	// Removed are members that were; their IDs are not used again.
	Removed []protocol.MemberID `json:"removed,omitempty"`
	// Set is whose acknowledgements a write waits for; with Changing others must hold it too.
	Set      protocol.SyncSet `json:"set"`
	Changing bool             `json:"changing,omitempty"`
	// Reports are the positions that members reported for an appointment, with what it would lose.
	Reports  map[protocol.MemberID]Report `json:"reports,omitempty"`
	Intent   *protocol.Intent             `json:"intent,omitempty"`
	Holds    map[string]protocol.Hold     `json:"holds,omitempty"`
	Settings protocol.Settings            `json:"settings"`
	Notices  []Notice                     `json:"notices,omitempty"`
}

// Server is the database server of one member.
type Server struct {
	Role protocol.Role `json:"role,omitempty"`
	// Serving says that it accepts writes, under a lease that the group agreed on.
	Serving    bool                `json:"serving"`
	Generation protocol.Generation `json:"generation,omitempty"`
	Upstream   protocol.MemberID   `json:"upstream,omitempty"`
	Volume     string              `json:"volume,omitempty"`
	Position   protocol.Position   `json:"position"`
	// Unread says that the position is not known yet.
	Unread bool `json:"unread,omitempty"`
	// Unfit says why its data can't follow the primary.
	Unfit string `json:"unfit,omitempty"`
	// Failing says in one line why what was last asked of it failed; "" since that succeeded, or it ran.
	Failing  string `json:"failing,omitempty"`
	Settings uint64 `json:"settings"`
	// Pending are settings that it takes only at its next start.
	Pending []string `json:"pending,omitempty"`
	// Held are settings that it takes only once the primary has them.
	Held     []string             `json:"held,omitempty"`
	Standbys []protocol.Streaming `json:"standbys,omitempty"`
	Measures Measures             `json:"measures,omitzero"`
	// Disk is the file system of the member's volume, whether the server runs or not.
	Disk Disk `json:"disk,omitzero"`
	// Source is the server outside of the cluster that it copies, or follows.
	Source *Source `json:"source,omitempty"`
	// Bases are the backups since which it can copy only the changes, newest first.
	Bases []Base `json:"bases,omitempty"`
}

// Disk is how much of a file system is used, and how much may be, in bytes. A total of 0 is not known.
type Disk struct {
	Used  int64 `json:"used"`
	Total int64 `json:"total"`
}

// Member is one member as the group knows it.
type Member struct {
	ID      protocol.MemberID `json:"id"`
	Voter   bool              `json:"voter"`
	Witness bool              `json:"witness,omitempty"`
	Leaving bool              `json:"leaving,omitempty"`
	// Joined says that it was heard of once.
	Joined bool   `json:"joined"`
	Volume string `json:"volume,omitempty"`
	// Position is what it told the member that answers, Heard how long ago that heard of it: negative is never.
	Position protocol.Position `json:"position"`
	Heard    time.Duration     `json:"heard"`
}

// Report is a position, and what the appointment of its member would lose.
type Report struct {
	Position protocol.Position `json:"position"`
	Loss     protocol.Loss     `json:"loss"`
}

// Notice is something that a person should know.
type Notice struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}
