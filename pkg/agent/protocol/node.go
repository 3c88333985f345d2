package protocol

import (
	"time"
)

// received is what another member told, and when that came.
type received struct {
	Told
	at Instant
}

// Node is the part of one agent in the protocol.
type Node struct {
	id    MemberID
	found *Found
	start uint64
	nonce uint64
	// lastIndex is that of the group's log when the agent started.
	lastIndex uint64
	// beganAt is when this agent began to apply entries, or started; agreedAt is when the group agreed on anything last.
	beganAt, agreedAt Instant

	now Instant
	doc Document
	// snapshot is set while doc is what this member remembers: entries are applied to it.
	snapshot *Document
	halted   string
	server   Server
	job      Job
	// jobSince is when the job began.
	jobSince Instant

	// leaseSeen and sealSeen are when this agent learnt of the last lease and the last seal.
	leaseSeen, sealSeen Instant
	// released is the last release of a primary that served, by the start of the agent that renewed its lease. Another
	// start did not see the server end: it may know less of the log than that held.
	released Release
	// intentSeen is when it learnt of the last plan for another primary.
	intentSeen Instant
	// admitted is the last generation in which the job Admit was done.
	admitted Generation
	// witnessed says that the last lease was agreed after this agent started.
	witnessed bool
	leading   bool
	ledSince  Instant
	contact   map[MemberID]Instant
	holdSeen  map[string]Instant
	blocked   string

	lease lease

	received map[MemberID]received
	streamed map[MemberID]Instant
	request  *Intent
	// reinit says that the copy of this member shall be made again.
	reinit bool
	// checkpointed says that the checkpoint for the request was started.
	checkpointed bool
	retiring     bool
	// refusals counts what plan refused, refused says why the last time.
	refusals  int
	refused   string
	stoppedAt Instant
	// reapedAt is when the last process of the server was reaped.
	reapedAt Instant

	proposed map[string]Instant
	out      []Effect
}

// Config starts a Node.
type Config struct {
	ID MemberID
	// Found is set for a first member that may propose to found the group.
	Found *Found
	// Start is the number of this start of the agent. It is on disk, and higher than any before it.
	Start uint64
	// Nonce tells this start from another one with the same number, after the volume was rolled back.
	Nonce uint64
	// LastIndex is the index of the last entry in the log of the group that this agent holds.
	LastIndex uint64
	// Document is the one that entries are applied to first.
	Document Document
	// Remembered is one of this incarnation that was agreed on before this start, or none. It may be an old one, and
	// counts until the group agrees on something.
	Remembered *Document
	Now        Instant
}

// New returns the node of an agent that starts now, with no process of the server running.
func New(c Config) *Node {
	n := &Node{
		id: c.ID, found: c.Found, start: c.Start, nonce: c.Nonce, lastIndex: c.LastIndex, doc: c.Document, now: c.Now,
		beganAt: c.Now, agreedAt: c.Now,
		leaseSeen: c.Now, sealSeen: c.Now, lease: lease{deadlines: map[uint64]Instant{}},
		contact: map[MemberID]Instant{}, holdSeen: map[string]Instant{}, received: map[MemberID]received{},
		streamed: map[MemberID]Instant{}, proposed: map[string]Instant{},
	}
	if c.Remembered != nil {
		n.doc, n.snapshot = *c.Remembered, &c.Document
	}
	return n
}

// Document returns the document as this member knows it. The caller must not change it.
func (n *Node) Document() *Document { return &n.doc }

// Blocked returns why the leader of the group can't appoint a primary, or why this member stopped applying entries, or
// "".
func (n *Node) Blocked() string {
	if n.halted != "" {
		return n.halted
	}
	return n.blocked
}

// Serves says whether this member accepts writes, and may do so at a time.
func (n *Node) Serves(now Instant) bool {
	return n.primary() && n.server.Role == Primary && n.server.Generation == n.doc.Generation &&
		n.Leased(n.doc.Generation, now)
}

// Quiet says that there is a primary, and that nothing is at work or asked for, as far as this member knows.
func (n *Node) Quiet() bool {
	d := &n.doc
	return d.Phase == Serving && d.Intent == nil && n.request == nil && !n.retiring && n.job.Kind == "" &&
		len(d.InForce) < 2
}

// Hurries says that a primary stops for another one: no write is acknowledged until its replicas told what they hold.
func (n *Node) Hurries() bool { return n.doc.Phase == Serving && n.doc.Intent != nil }

// Retired says that nothing is left to do before this agent ends in order. A primary waits for its release to be agreed
// as long as a group with a majority takes for that at most: where the majority ends with it, nobody agrees any more.
func (n *Node) Retired() bool {
	t := n.doc.Settings.Timing
	waits := n.primary() && (n.lease.reaped != n.doc.Generation || n.now.Sub(n.reapedAt) < t.Agreement+t.ElectionBound)
	return n.retiring && !waits && n.job.Kind == "" && n.server.Role != Primary
}

// Refusal returns how many requests for a switchover this member refused as the primary, and why the last one.
func (n *Node) Refusal() (int, string) { return n.refusals, n.refused }

// Server returns what this member observed last of its server.
func (n *Node) Server() Server { return n.server }

// Received returns the position that another member told last.
func (n *Node) Received(id MemberID) Position { return n.received[id].Position }

// Leased says whether this member may accept writes in a generation at a time, as far as its lease goes.
func (n *Node) Leased(g Generation, now Instant) bool {
	return n.doc.Generation == g && n.lease.valid(g, now)
}

// Step takes one event and returns what to do.
func (n *Node) Step(now Instant, e Event) []Effect {
	n.now, n.out = now, nil
	switch e := e.(type) {
	case Applied:
		n.applied(e)
	case Restored:
		n.restored(e.Document)
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
			if e.Job.Kind == Promote && n.lease.promoted == e.Job.Generation {
				n.lease.promotedAt = now // standbys can connect from now on
			}
			if e.Job.Kind == Admit {
				n.admitted = e.Job.Generation
			}
			if stop := e.Job.Kind == StopNow || e.Job.Kind == StopFast; stop && n.server.Role == Stopped {
				n.lease.reaped, n.reapedAt = e.Job.Generation, n.now
			}
		}
	case Received:
		n.received[e.Member] = received{e.Told, now}
	case Reinit:
		n.reinit = true
	case Retire:
		n.retiring = true
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
	if n.snapshot != nil { // all of it is applied again: so it shows whether the log is what was agreed on
		n.doc, n.snapshot, n.beganAt = *n.snapshot, nil, n.now
	}
	if n.halted != "" || e.Index <= n.doc.Index {
		return
	}
	n.agreedAt = n.now
	lease, phase, generation, planned := n.doc.LeaseNumber, n.doc.Phase, n.doc.Generation, n.doc.Intent != nil
	if r, ok := e.Entry.(*Renew); ok && r.At == n.doc.Index && r.Chain != n.doc.Chain {
		n.halted = "the primary agreed on other entries than this member holds: its group state was changed by hand or " +
			"rolled back; remove the member and add it again"
		return
	}
	err := n.doc.Apply(e.Index, e.Entry)
	if n.doc.LeaseNumber != lease {
		n.leaseSeen, n.witnessed = n.now, e.Index > n.lastIndex
	}
	if n.doc.Generation != generation {
		n.reinit = false // what holds all is another one now
	}
	if n.doc.Generation != generation || n.doc.Intent != nil {
		n.request = nil // it was agreed, or is out of date
	}
	if n.doc.Phase == Sealed && phase != Sealed {
		n.sealSeen = n.now
	}
	if n.doc.Intent != nil && !planned {
		n.intentSeen = n.now
	}
	if r, ok := e.Entry.(*Release); ok && err == nil && phase == Serving && r.Process == n.doc.Process {
		n.released = *r
	}
	if id, begins := beginsHold(e.Entry); begins {
		n.holdSeen[id] = n.now
	}
	if r, ok := e.Entry.(*Renew); ok && err == nil && r.Member == n.id && r.Process == n.start && r.Nonce == n.nonce {
		n.renewed(r)
	}
}

// restored takes a snapshot. One that is older than what this member remembers counts once something was agreed on.
func (n *Node) restored(d Document) {
	if n.snapshot != nil && d.Index < n.doc.Index {
		n.snapshot = &d
		return
	}
	n.snapshot = nil
	n.doc, n.leaseSeen, n.sealSeen, n.agreedAt, n.witnessed = d, n.now, n.now, n.now, true
}

// join makes this start of the agent known.
func (n *Node) join() {
	m, known := n.doc.Members[n.id]
	switch {
	case !known:
	case m.Start > n.start:
		n.halted = "the group remembers a later start of this member: its volume was rolled back; remove the member and " +
			"add it again"
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

// do starts a job unless another is at work. A job of a later generation ends the one before it, and so does a stop;
// a stop in order ends only the wait for clients. Any other ends one for readers.
func (n *Node) do(job Job) {
	urgent := n.job.Generation < n.doc.Generation || job.Kind == StopNow && n.job.Kind != StopNow ||
		job.Kind == StopFast && n.job.Kind == Admit || job.Kind != Read && n.job.Kind == Read
	if n.job.Kind != "" && !urgent {
		return
	}
	job.Generation, job.Settings, job.Source = n.doc.Generation, n.doc.Settings, n.doc.Source
	n.job, n.jobSince = job, n.now
	n.emit(Do{Job: job})
}
