package group

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/disk"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// hello is what each side of a connection proves before the first message, beside its certificate.
type hello struct {
	Version int               `json:"version"`
	Token   string            `json:"token"`
	ID      protocol.MemberID `json:"id"`
	Start   start             `json:"start"`
	Log     position          `json:"log"`
	// Purpose is what the connection is for.
	Purpose Purpose `json:"purpose"`
	// Refused is why the other side is refused.
	Refused string `json:"refused,omitempty"`
}

// Purpose is what a connection between two agents is for.
type Purpose string

const (
	forRaft     Purpose = "raft"
	forMessages Purpose = "messages"
)

const helloVersion = 1

// peersFile is in the directory of the group.
const peersFile = "peers"

// rememberInterval is how often what peers hold is written to disk. A rollback that is younger is noticed only by
// members that did not restart meanwhile.
const rememberInterval = 10 * time.Second

// peer is what this member remembers of another.
type peer struct {
	Start start `json:"start"`
	// Log is the most that it said to hold.
	Log position `json:"log"`
	// Address is where it proved itself last.
	Address string `json:"address,omitempty"`
}

// peers remembers the members that proved themselves, across restarts.
type peers struct {
	token string

	mu    sync.Mutex
	file  disk.Slots
	known map[protocol.MemberID]peer
	saved time.Time
}

func openPeers(token, path string) (*peers, error) {
	p := &peers{token: token, known: map[protocol.MemberID]peer{}}
	var err error
	if p.file, _, err = disk.OpenSlots(path, &p.known); err != nil {
		return nil, fmt.Errorf("find what is known of the other members: %w", err)
	}
	return p, nil
}

// check returns why a member is refused, or nil: it may belong to another incarnation, or its volume was emptied or
// rolled back, so that it has forgotten what it agreed to.
func (p *peers) check(h hello) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	known, met := p.known[h.ID]
	switch {
	case h.Version != helloVersion:
		return fmt.Errorf("it speaks version %d of the protocol between agents, this one version %d", h.Version,
			helloVersion)
	case h.Token != p.token:
		return errors.New("it belongs to another incarnation of the cluster")
	case !met || h.Start == known.Start:
		return nil
	case h.Start.Number <= known.Start.Number:
		return fmt.Errorf("its start number is %d, but it started with %d before: its volume was emptied or rolled back",
			h.Start.Number, known.Start.Number)
	case h.Log.before(known.Log):
		return fmt.Errorf("its log ends at %d (term %d), but it held %d (term %d) before: its volume was rolled back",
			h.Log.Index, h.Log.Term, known.Log.Index, known.Log.Term)
	}
	return nil
}

// remember keeps what a member proved. A new start is on disk before the first message.
func (p *peers) remember(h hello, address string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.known[h.ID]
	started := known.Start != h.Start
	if known.Log.before(h.Log) {
		known.Log = h.Log
	}
	if address != "" {
		known.Address = address
	}
	known.Start = h.Start
	p.known[h.ID] = known
	if !started && time.Since(p.saved) < rememberInterval {
		return nil
	}
	p.saved = time.Now()
	return p.file.Write(p.known)
}

// address is where a member proved itself last, or "".
func (p *peers) address(id protocol.MemberID) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known[id].Address
}
