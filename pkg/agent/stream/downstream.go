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

	mu    sync.Mutex
	conns map[net.Conn]string
}

// Handle takes the connection of another agent until it ends.
func (d *Downstream) Handle(from protocol.MemberID, remote net.Conn) {
	_ = remote.SetDeadline(time.Now().Add(answerTimeout))
	raw, err := line(remote)
	var r request
	if err != nil || json.Unmarshal([]byte(raw), &r) != nil {
		return
	}
	if !d.Serves(r.Generation, from) {
		_, _ = io.WriteString(remote, "this member does not serve that generation to you\n")
		return
	}
	local, err := net.DialTimeout("unix", d.Socket, answerTimeout)
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
	join(local, remote, func() {})
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.conns, local)
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
