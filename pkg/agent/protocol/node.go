package protocol

import (
	"time"
)

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
	Role           Role
	// Generation is that of the promotion, or of the primary that the replica follows. Upstream is that primary.
	Generation Generation
	Upstream   MemberID
	// Floor is the lowest generation whose primary the member may follow. It is on disk.
	Floor Generation
	// Position is what is on disk: received or replayed, whichever is more.
	Position Position
	// Flushed is when the last flush that the server confirmed was asked for. Only a primary has one.
	Flushed Instant
	// Set is the version of the synchronous set that is loaded, and SetAt the offset of the log after that.
	Set, SetAt uint64
	// Standbys are those that stream from this primary.
	Standbys []Streaming
	// Unfit says why the data directory can't follow the primary; it is made anew on request only.
	Unfit string
}

// Streaming is a standby as its primary sees it.
type Streaming struct {
	Standby
	// Flushed is the offset that it confirmed.
	Flushed uint64
}

// JobKind says what a job does to the server.
type JobKind string

const (
	// Initialise makes a database aside and renames it.
	Initialise JobKind = "initialise"
	// Clone copies the data of the primary into an empty directory.
	Clone JobKind = "clone"
	// Follow runs the server as a replica of the primary of a generation, and rewinds it before if needed.
	Follow JobKind = "follow"
	// Cut writes the floor to disk, and then ends whatever the server streams from. A primary is stopped.
	Cut JobKind = "cut"
	// Promote loads the set and then makes the server a primary on the timeline. It reads the deadline before each act.
	Promote JobKind = "promote"
	// Load makes the server wait for another set.
	Load JobKind = "load"
	// Checkpoint shortens the stop that follows.
	Checkpoint JobKind = "checkpoint"
	// StopFast stops the server in order, so that standbys receive all of its log.
	StopFast JobKind = "stopFast"
	// StopNow kills every process of the server.
	StopNow JobKind = "stopNow"
)

// Job is one task for whoever runs the server. There is one at a time: who starts a job ends the one before it.
type Job struct {
	Kind       JobKind
	Generation Generation
	// Member is the primary to follow or to clone.
	Member MemberID
	// Timeline is the one to promote to.
	Timeline uint64
	Set      SyncSet
}

// Event is something that happened.
type Event interface{ event() }

type (
	// Tick is the passing of time. It comes at least every 200 ms.
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
	// Received is the position that another member says it holds.
	Received struct {
		Member   MemberID
		Position Position
	}
	// Switchover is a request for another primary.
	Switchover struct{ Intent Intent }
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

// Node is the part of one agent in the protocol.
type Node struct {
	id      MemberID
	founder *Found
	start   uint64
	// lastIndex is that of the group's log when the agent started.
	lastIndex uint64

	now    Instant
	doc    Document
	halted string
	server Server
	job    Job
	// jobSince is when the job began.
	jobSince Instant

	// leaseSeen and sealSeen are when this agent learnt of the last lease and the last seal.
	leaseSeen, sealSeen Instant
	// witnessed says that the last lease was agreed after this agent started.
	witnessed bool
	leading   bool
	ledSince  Instant
	contact   map[MemberID]Instant
	holdSeen  map[string]Instant
	blocked   string

	lease lease

	received map[MemberID]Position
	streamed map[MemberID]Instant
	request  *Intent
	// checkpointed says that the checkpoint for the request was begun.
	checkpointed bool
	stoppedAt    Instant

	proposed map[string]Instant
	out      []Effect
}

// Config starts a Node.
type Config struct {
	ID MemberID
	// Founder is set for a first member that may propose to found the group.
	Founder *Found
	// Start is the number of this start of the agent. It is on disk, and higher than any before it.
	Start uint64
	// LastIndex is the index of the last entry in the log of the group that this agent holds.
	LastIndex uint64
	Document  Document
	Now       Instant
}

// New returns the node of an agent that starts now, with no process of the server running.
func New(c Config) *Node {
	return &Node{
		id: c.ID, founder: c.Founder, start: c.Start, lastIndex: c.LastIndex, doc: c.Document, now: c.Now,
		leaseSeen: c.Now, sealSeen: c.Now, lease: lease{deadlines: map[uint64]Instant{}},
		contact: map[MemberID]Instant{}, holdSeen: map[string]Instant{}, received: map[MemberID]Position{},
		streamed: map[MemberID]Instant{}, proposed: map[string]Instant{},
	}
}

// Document returns the document as this member knows it. The caller must not change it.
func (n *Node) Document() *Document { return &n.doc }

// Blocked returns why the leader of the group can't appoint a primary, or why this member stopped applying entries, or "".
func (n *Node) Blocked() string {
	if n.halted != "" {
		return n.halted
	}
	return n.blocked
}

// Serves says whether this member may accept writes at a time.
func (n *Node) Serves(now Instant) bool {
	return n.primary() && n.server.Role == Primary && n.server.Generation == n.doc.Generation && n.lease.valid(n.doc.Generation, now)
}

// Step takes one event and returns what to do.
func (n *Node) Step(now Instant, e Event) []Effect {
	n.now, n.out = now, nil
	switch e := e.(type) {
	case Applied:
		n.applied(e)
	case Restored:
		n.doc, n.leaseSeen, n.sealSeen, n.witnessed = e.Document, now, now, true
	case Halted:
		n.halted = e.Why
	case Led:
		if e.Leading && !n.leading {
			n.ledSince = now
			clear(n.contact)
		}
		n.leading, n.blocked = e.Leading, ""
	case Contact:
		for _, id := range e.Present {
			n.contact[id] = now
		}
	case Observed:
		n.server = e.Server
		for _, s := range e.Server.Standbys {
			n.streamed[s.Member] = now
		}
	case Done:
		if n.job.Kind == e.Job.Kind && n.job.Generation == e.Job.Generation {
			n.job = Job{}
		}
	case Received:
		n.received[e.Member] = e.Position
	case Switchover:
		n.request, n.checkpointed = &e.Intent, false
	}
	n.next()
	return n.out
}

// next does what the state asks for.
func (n *Node) next() {
	if n.halted != "" {
		if n.leading {
			n.emit(StepDown{})
		}
		return
	}
	n.join()
	n.lead()
	n.act()
	n.renew()
	n.disarm()
}

func (n *Node) applied(e Applied) {
	if n.halted != "" || e.Index <= n.doc.Index {
		return
	}
	lease, phase := n.doc.LeaseNumber, n.doc.Phase
	if r, ok := e.Entry.(*Renew); ok && r.At == n.doc.Index && r.Chain != n.doc.Chain {
		n.halted = "the primary agreed on other entries than this member holds: its group state was changed by hand or " +
			"rolled back; remove the member and add it again"
		return
	}
	err := n.doc.Apply(e.Index, e.Entry)
	if n.doc.LeaseNumber != lease {
		n.leaseSeen, n.witnessed = n.now, e.Index > n.lastIndex
	}
	if n.doc.Phase == Sealed && phase != Sealed {
		n.sealSeen = n.now
	}
	if h, ok := e.Entry.(*StartHold); ok {
		n.holdSeen[h.ID] = n.now
	}
	if r, ok := e.Entry.(*Renew); ok && err == nil && r.Member == n.id && r.Process == n.start {
		n.renewed(r)
	}
}

// join makes this start of the agent known.
func (n *Node) join() {
	m, known := n.doc.Members[n.id]
	switch {
	case !known:
	case m.Start > n.start:
		n.halted = "the group remembers a later start of this member: its volume was rolled back; remove the member and add it again"
	case m.Start < n.start:
		n.propose("joined", &Joined{Member: n.id, Start: n.start, Level: highestLevel})
	}
}

// primary says whether this member is the primary of the document.
func (n *Node) primary() bool {
	return n.doc.Primary == n.id && n.doc.Successor == "" && (n.doc.Phase == Appointed || n.doc.Phase == Serving)
}

func (n *Node) emit(e Effect) { n.out = append(n.out, e) }

// propose asks for an entry, and again when no agreement is seen. The key names what is asked for.
func (n *Node) propose(key string, e Entry) {
	if last, asked := n.proposed[key]; asked && n.now.Sub(last) < n.retry() {
		return
	}
	if n.doc.Token != "" && LevelOf(e.Kind()) > n.doc.Level() {
		return
	}
	n.proposed[key] = n.now
	n.emit(Propose{Entry: e})
}

func (n *Node) retry() time.Duration {
	if t := n.doc.Settings.Timing.Agreement; t > 0 {
		return t
	}
	return time.Second
}

// do starts a job unless another is at work. A job of a later generation ends the one before it, and so does a stop.
func (n *Node) do(job Job) {
	urgent := n.job.Generation < n.doc.Generation || job.Kind == StopNow && n.job.Kind != StopNow
	if n.job.Kind != "" && !urgent {
		return
	}
	job.Generation = n.doc.Generation
	n.job, n.jobSince = job, n.now
	n.emit(Do{Job: job})
}
