package group

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// everywhere is a listener as pods have it: on all addresses of its host, at the same port as all others.
type everywhere struct{ net.Listener }

func (everywhere) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv6unspecified, Port: 9741} }

// asking is the network of a member on which something else asks.
type asking struct{ *network }

func (a asking) Accept() (net.Conn, error) {
	<-a.done
	return nil, net.ErrClosed
}

func (asking) Close() error { return nil }

// TestOneVoteATerm: a leader, which gave its own vote to itself, gives no second one to another member in its term.
// Else a term could have two leaders, and a place in the log two entries.
func TestOneVoteATerm(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var groups []*Group
	for _, id := range initialMembers {
		groups = append(groups, s.open(id, func(c *Config) { c.Listener = everywhere{c.Listener} }))
	}
	s.wait("a leader", func() bool { return leader(groups) != nil })
	voter := leader(groups)
	id, term := voter.config.ID, voter.raft.CurrentTerm()
	for _, candidate := range others(groups, voter) {
		inner := raft.NewNetworkTransport(asking{candidate.network}, 1, time.Second, io.Discard)
		defer func() { _ = inner.Close() }()
		header := raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(candidate.config.ID),
			Addr: inner.EncodePeer(raft.ServerID(candidate.config.ID), inner.LocalAddr())}
		// A leader that asks for another one does not refuse a vote for being there.
		for _, transferred := range []bool{false, true} {
			var resp raft.RequestVoteResponse
			err := inner.RequestVote(raft.ServerID(id), raft.ServerAddress(id), &raft.RequestVoteRequest{RPCHeader: header,
				Term: term, LastLogIndex: 1000, LastLogTerm: term, LeadershipTransfer: transferred}, &resp)
			if err != nil || resp.Granted {
				t.Errorf("%s, transferred %t: %+v, %v", candidate.config.ID, transferred, resp, err)
			}
		}
	}
}
