package stream

import (
	"encoding/json"
	"io"
	"net"
	"sync"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// Downstream is the end of a primary: it passes what replicas ask for to the socket of its server.
type Downstream struct {
	// Socket is where the server listens.
	Socket string
	// Serves says whether the server is a primary of a generation, with a lease, and a member may have its log.
	Serves func(protocol.Generation, protocol.MemberID) bool
	// Open, if set, connects to the server instead of Socket.
	Open func() (net.Conn, error)
	// Filter, if set, returns what the server may read of what a replica sends; copied names its copy of the data.
	Filter func(copied string, replica net.Conn) net.Conn
	// Facts is what the driver tells those who follow, as JSON.
	Facts func() any
	// Changed, if it is set, is called when a stream begins and when it ends.
	Changed func()

	mu    sync.Mutex
	conns map[net.Conn]string
}

const (
	// serveTime is how long who asks for facts is kept waiting, less than it waits for an answer; servePause is the time
	// between two questions whether the server serves.
	serveTime  = answerTimeout / 2
	servePause = 5 * time.Millisecond

	refusal = "this member does not serve that generation to you\n"
)

// Handle takes the connection of another agent until it ends.
func (d *Downstream) Handle(from protocol.MemberID, remote net.Conn) {
	_ = remote.SetDeadline(time.Now().Add(answerTimeout))
	raw, err := line(remote)
	var r request
	if err != nil || json.Unmarshal([]byte(raw), &r) != nil {
		return
	}
	if r.Facts {
		d.tell(from, remote, r.Generation)
		return
	}
	if !d.Serves(r.Generation, from) {
		_, _ = io.WriteString(remote, refusal)
		return
	}
	local, err := d.open()
	if err != nil {
		_, _ = io.WriteString(remote, "the server does not answer\n")
		return
	}
	defer local.Close() //nolint:errcheck // both ends are gone
	if _, err := io.WriteString(remote, "ok\n"); err != nil {
		return
	}
	_ = remote.SetDeadline(time.Time{})
	d.mu.Lock()
	if d.conns == nil {
		d.conns = map[net.Conn]string{}
	}
	d.conns[local] = r.Copy
	d.mu.Unlock()
	replica := remote
	if d.Filter != nil {
		replica = d.Filter(r.Copy, remote)
	}
	d.changed()
	defer d.changed()
	join(local, replica, func() {})
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.conns, local)
}

// tell answers who asks for facts. A replica asks as soon as it knows who is about to be the primary, and clients wait
// for it: so it is kept waiting for the server, instead of being told to come again. Facts that were gathered while the
// server stopped to serve are not told.
func (d *Downstream) tell(to protocol.MemberID, remote net.Conn, g protocol.Generation) {
	for end := time.Now().Add(serveTime); !d.Serves(g, to) && time.Now().Before(end); {
		time.Sleep(servePause)
	}
	var facts any
	serves := d.Serves(g, to)
	if serves && d.Facts != nil {
		facts = d.Facts()
		serves = d.Serves(g, to)
	}
	if !serves {
		_, _ = io.WriteString(remote, refusal)
		return
	}
	if _, err := io.WriteString(remote, "ok\n"); err == nil && d.Facts != nil {
		_ = json.NewEncoder(remote).Encode(facts)
	}
}

func (d *Downstream) open() (net.Conn, error) {
	if d.Open != nil {
		return d.Open()
	}
	return net.DialTimeout("unix", d.Socket, answerTimeout)
}

func (d *Downstream) changed() {
	if d.Changed != nil {
		d.Changed()
	}
}

// Drop ends the streams of every copy but those that keep allows; they may come again.
func (d *Downstream) Drop(keep func(copied string) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for c, copied := range d.conns {
		if copied != "" && !keep(copied) {
			_ = c.Close()
		}
	}
}
