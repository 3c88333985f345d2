package group

import (
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/pulse"
)

// keep watches the disk and tells the protocol who leads and who is there.
func (g *Group) keep() {
	timer := time.NewTimer(pulse.Next(keepInterval))
	defer timer.Stop()
	for {
		select {
		case <-g.done:
			return
		case <-g.raft.LeaderCh():
			g.lead()
		case now := <-timer.C:
			timer.Reset(pulse.Next(keepInterval))
			if left := g.store.stalled(now); g.network.setLeft(left) {
				g.config.Report(map[bool]string{
					true:  "the disk of the group stalls: this member leaves its network",
					false: "the disk of the group works again",
				}[left])
			}
			g.lead()
		}
	}
}

func (g *Group) lead() {
	leading := g.raft.State() == raft.Leader && !g.network.isLeft()
	if leading != g.leading {
		g.leading = leading
		g.leads.Store(leading)
		g.config.Report(map[bool]string{
			true: "this member leads the group", false: "this member does not lead the group any more",
		}[leading])
		g.config.Deliver(protocol.Led{Leading: leading})
	}
	if !leading {
		return
	}
	var present []protocol.MemberID
	g.mu.Lock()
	for id, at := range g.contact {
		if time.Since(at) < 2*stateInterval {
			present = append(present, id)
		}
	}
	g.mu.Unlock()
	slices.Sort(present)
	g.config.Deliver(protocol.Contact{Present: present})
	g.reconcile()
}

// reconcile gives the log to members that were added, and none to members that were removed.
func (g *Group) reconcile() {
	index, now, ok := g.configuration()
	g.machine.mu.Lock()
	var members []protocol.MemberID
	for id := range g.machine.document.Members {
		members = append(members, id)
	}
	founded := g.machine.document.Token != ""
	g.machine.mu.Unlock()
	if !ok || !founded {
		return
	}
	slices.Sort(members)
	known := func(id protocol.MemberID) bool {
		return slices.ContainsFunc(now.Servers, func(s raft.Server) bool { return s.ID == raft.ServerID(id) })
	}
	for _, id := range members {
		if !known(id) {
			g.raft.AddNonvoter(raft.ServerID(id), raft.ServerAddress(id), index, callTimeout)
			return
		}
	}
	for _, s := range now.Servers {
		if !slices.Contains(members, protocol.MemberID(s.ID)) && s.Suffrage != raft.Voter {
			g.raft.RemoveServer(s.ID, index, callTimeout)
			return
		}
	}
}

// tell sends the state of this agent to all members, for the first time at once.
func (g *Group) tell() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-g.done:
			return
		case <-g.moved:
		case <-timer.C:
			timer.Reset(pulse.Next(stateInterval))
		}
		g.mu.Lock()
		s := state{Log: g.store.end(), Told: g.told}
		g.mu.Unlock()
		_, now, ok := g.configuration()
		for _, m := range now.Servers {
			if id := protocol.MemberID(m.ID); ok && id != g.config.ID {
				g.mailbox(id).send(message{State: &s})
			}
		}
	}
}

// heard notes a word of a member. Who is heard for the first time may not have been there when this one told last.
func (g *Group) heard(id protocol.MemberID) {
	g.mu.Lock()
	_, known := g.contact[id]
	g.contact[id] = time.Now()
	g.mu.Unlock()
	if known {
		return
	}
	select {
	case g.moved <- struct{}{}:
	default:
	}
	g.hasten()
}
