package protocol

import "time"

// Role is what the server of a member runs as.
type Role string

const (
	// Stopped has no process.
	Stopped Role = ""
	// Replica accepts no writes.
	Replica Role = "replica"
	// Primary accepts writes.
	Primary Role = "primary"
)

// Server is what the agent knows of the server beside it, and of the data directory.
type Server struct {
	// System and Volume identify a data directory that is whole. Both are empty where there is none.
	System, Volume string
	// CopiedIn is the generation whose primary the data was copied from, after this member had given up all copies it
	// had before. It is on disk, and 0 for data that was made in another way.
	CopiedIn Generation
	Role     Role
	// Generation is that of the promotion, or of the primary that the replica follows. Upstream is that primary.
	Generation Generation
	Upstream   MemberID
	// Floor is the lowest generation whose primary the member may follow. It is on disk.
	Floor Generation
	// Position is what is on disk: received or replayed, whichever is more.
	Position Position
	// Unread says that the position is not known yet: the server stopped without an order, and the end of its log was
	// not read since. Nothing is reported then: a position that is too low could lose acknowledged writes.
	Unread bool
	// Lag is how old the data is that a replica serves, in whole seconds; 0 if it is not known to be old.
	Lag time.Duration
	// Settings is the version of the settings that the server runs with.
	Settings uint64
	// Flushed is when the last flush that the server confirmed was asked for. Only a primary has one.
	Flushed Instant
	// Set is the version of the synchronous set that is loaded, and SetAt the offset of the log after that.
	Set, SetAt uint64
	// Standbys are those that stream from this primary.
	Standbys []Streaming
	// Following says of a primary that its server follows the source of the cluster, and takes no writes of clients.
	// Behind says that the source no longer has what comes next: all data is to be copied again.
	Following, Behind bool
	// Unfit says why the data directory can't follow the primary; it is made again on request only, unless it is Broken.
	Unfit string
	// Broken says of an unfit data directory that it is neither the old data nor the new: nothing can be read from it.
	Broken bool
}

// Streaming is a standby as its primary sees it.
type Streaming struct {
	Standby
	// Flushed is the offset that it confirmed.
	Flushed uint64
}

// Told is what a member tells the others of its server.
type Told struct {
	// Position is what it holds.
	Position Position `json:"position"`
	// Role is what it serves as: a replica that streams, or a primary. Generation is that of the primary.
	Role       Role       `json:"role,omitempty"`
	Generation Generation `json:"generation,omitempty"`
	// Lag is how old the data is that a replica serves.
	Lag time.Duration `json:"lag,omitempty"`
	// Holds is the generation whose primary gets no new connection through this member any more.
	Holds Generation `json:"holds,omitempty"`
}

// Told returns what the others should know of a server.
func (s Server) Told() Told {
	t := Told{Position: s.Position, Role: s.Role, Generation: s.Generation, Lag: s.Lag}
	if s.Role == Replica && (s.Upstream == "" || s.Unread) {
		t.Role, t.Generation = Stopped, 0
	}
	return t
}

// JobKind says what a job does to the server.
type JobKind string

const (
	// Initialise makes a database aside and renames it.
	Initialise JobKind = "initialise"
	// Clone copies the data of the primary into an empty directory.
	Clone JobKind = "clone"
	// Discard stops the server and removes its copy of the data.
	Discard JobKind = "discard"
	// Follow runs the server as a replica of the primary of a generation, and rewinds it before if needed.
	Follow JobKind = "follow"
	// Cut writes the floor to disk, and then ends whatever the server streams from. A primary is stopped. After it the
	// position is known.
	Cut JobKind = "cut"
	// Read runs the server without an upstream, for clients that read.
	Read JobKind = "read"
	// Promote loads the set and then makes the server a primary on the timeline. It reads the deadline before each act.
	Promote JobKind = "promote"
	// Load makes the server wait for another set.
	Load JobKind = "load"
	// Checkpoint shortens the stop that follows.
	Checkpoint JobKind = "checkpoint"
	// Reload has the server take other settings, as far as it can without a restart.
	Reload JobKind = "reload"
	// Copy has a primary that follows the source of the cluster receive all data of it again. Detach ends that it
	// follows, and has the server take writes.
	Copy JobKind = "copy"
	// Detach reads the deadline before each act, as Promote does.
	Detach JobKind = "detach"
	// Admit waits until every client whose connection is there is logged in, or gone. Clients that come later don't count.
	Admit JobKind = "admit"
	// StopFast stops the server in order, so that standbys receive all of its log.
	StopFast JobKind = "stopFast"
	// StopNow kills every process of the server.
	StopNow JobKind = "stopNow"
)

// Job is one task for who runs the server. There is one at a time: who starts a job ends the one before it.
type Job struct {
	Kind       JobKind
	Generation Generation
	// Member is the primary to follow or to clone.
	Member MemberID
	// Timeline is the one to promote to.
	Timeline uint64
	Set      SyncSet
	// Source is that of the document.
	Source *Source
	// Settings are those of the document; a server that starts takes them.
	Settings Settings
}

// Event is something that happened.
type Event interface{ event() }

type (
	// Tick is the passing of time. It comes at least every 200 ms, and every 400 ms while the node is Quiet.
	Tick struct{}
	// Applied is an entry that the group agreed on. They come in order.
	Applied struct {
		Index uint64
		Entry Entry
	}
	// Restored is a snapshot of the group's document.
	Restored struct{ Document Document }
	// Halted says that an entry can't be applied: nothing after it is.
	Halted struct{ Why string }
	// Led says whether this agent leads the group.
	Led struct{ Leading bool }
	// Contact names the members that the leader of the group heard of just now.
	Contact struct{ Present []MemberID }
	// Observed is the present state of the server.
	Observed struct{ Server Server }
	// Done ends a job, well or not. The state of the server comes before it.
	Done struct{ Job Job }
	// Received is what another member says of its server.
	Received struct {
		Member MemberID
		Told
	}
	// Switchover is a request for another primary.
	Switchover struct{ Intent Intent }
	// Reinit is a request to make the copy of this member again.
	Reinit struct{}
	// Retire says that this agent is about to end: a primary stops in order and releases its lease, and this start
	// becomes none again.
	Retire struct{}
)

func (Tick) event()       {}
func (Applied) event()    {}
func (Restored) event()   {}
func (Halted) event()     {}
func (Led) event()        {}
func (Contact) event()    {}
func (Observed) event()   {}
func (Done) event()       {}
func (Received) event()   {}
func (Switchover) event() {}
func (Reinit) event()     {}
func (Retire) event()     {}

// Effect is something that the agent shall do, in the order given.
type Effect interface{ effect() }

type (
	// Propose asks the leader of the group for an agreement. It may be lost, and come twice.
	Propose struct{ Entry Entry }
	// SetDeadline tells the guard when to kill the server. It is done before the effects that follow. Unlimited is
	// for a sole voter.
	SetDeadline struct {
		At        Instant
		Unlimited bool
	}
	// Disarm takes the deadline from the guard.
	Disarm struct{}
	// Do starts a job.
	Do struct{ Job Job }
	// GiveVote and TakeVote change the group's configuration, if it is still the one of the document.
	GiveVote struct{ Member MemberID }
	// TakeVote makes a voter a member without a vote.
	TakeVote struct{ Member MemberID }
	// StepDown has another agent lead the group.
	StepDown struct{}
	// Refuse answers a request that can't be done.
	Refuse struct{ Why string }
)

func (Propose) effect()     {}
func (SetDeadline) effect() {}
func (Do) effect()          {}
func (GiveVote) effect()    {}
func (TakeVote) effect()    {}
func (StepDown) effect()    {}
func (Disarm) effect()      {}
func (Refuse) effect()      {}
